#include "kernels/inputs/seeded_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "kernels/inputs/normal_table.h"
#include "kernels/inputs/pack_weights.h"
#include "kernels/inputs/parallel.h"
#include "kernels/inputs/random.h"
#include "model/numerics/bf16.h"
#include "model/numerics/encode.h"
#include "model/numerics/fp8.h"

namespace bwmm::inputs {
namespace {

// One stream per expert and tensor, far apart from the streams of routing and hidden rows.
enum Stream : std::uint64_t {
  kGateUp = 0x100,
  kDown = 0x200,
  kScale = 0x300,
  kGateBias,
  kUpBias,
  kDownBias
};

Random StreamOf(std::uint64_t seed, Stream stream, int expert) {
  return Random(seed, Mix(stream) + static_cast<std::uint64_t>(expert));
}

// Writes `row.size()` draws from the table; four per random number.
template <typename Word>
void DrawRow(Random& random, const std::array<Word, kQuantiles>& table, std::span<Word> row) {
  std::size_t i = 0;
  for (; i + 4 <= row.size(); i += 4) {
    const std::uint64_t bits = random.Bits();
    for (int j = 0; j < 4; ++j)
      row[i + j] = table[bits >> (kQuantileBits * j) & 0xffff];
  }
  for (const std::uint64_t bits = random.Bits(); i < row.size(); ++i)
    row[i] = table[bits >> (kQuantileBits * (i % 4)) & 0xffff];
}

// Standard deviation of the drawn codes: small enough that the tails fit the format, large enough
// to use it (MXFP4 4..6, MXFP8 with the x2 rule half of the top binade).
double CodeSigma(WeightLayout layout) {
  switch (layout) {
    case WeightLayout::kMxfp4:
      return 2;
    case WeightLayout::kMxfp8E5M2:
      return 8192;
    default:
      return 64;
  }
}

std::uint8_t EncodeCode(WeightLayout layout, double value) {
  const float v = static_cast<float>(value);
  if (layout != WeightLayout::kFp8)
    return EncodeLane(WeightDType(layout), v);
  // Up to 240 the codes mean the same in e4m3fn and in gen3's e4m3.
  return Fp8E4M3Fn::RoundFrom(std::clamp(v, -240.0f, 240.0f), Saturate::kYes).bits();
}

// Rows of x4 words and their scales. A lane whose contraction index is padding stays zero, and a
// group of nothing but padding keeps the scale 0x00.
template <typename Word>
class MxFiller {
 public:
  MxFiller(LayerTensors& layer, std::uint64_t seed)
      : layer_(layer), seed_(seed), sigma_(CodeSigma(layer.layout)) {
    table_ = TableOf<std::uint8_t>(
        [&](float quantile) { return EncodeCode(layer.layout, quantile * sigma_); });
  }

  void FillGateUp(int expert) {
    const LayerShape& shape = layer_.shape;
    Random random = StreamOf(seed_, kGateUp, expert);
    for (int p = 0; p < kPartitions; ++p) {
      for (int half = 0; half < 2; ++half) {
        for (int tile = 0; tile < shape.hidden_tiles(); ++tile) {
          const Word mask =
              LaneMask([&](int w) { return shape.HiddenOf(p, tile, w) < shape.hidden; });
          FillWords(random, layer_.gate_up_weight,
                    shape.GateUpRow(kPartitions, expert, p, half, tile), shape.intermediate, mask);
        }
      }
    }
    for (int row = 0; row < kScaleRows; ++row) {
      for (int half = 0; half < 2; ++half) {
        for (int tile = 0; tile < shape.hidden_tiles(); ++tile) {
          if (shape.HiddenOf(row * kGroupPartitions, tile, 0) < shape.hidden) {
            FillScales(random, *layer_.gate_up_scale,
                       shape.GateUpRow(kScaleRows, expert, row, half, tile), shape.intermediate,
                       shape.hidden);
          }
        }
      }
    }
  }

  void FillDown(int expert) {
    const LayerShape& shape = layer_.shape;
    Random random = StreamOf(seed_, kDown, expert);
    for (int p = 0; p < kPartitions; ++p) {
      for (int tile = 0; tile < shape.intermediate_tiles(); ++tile) {
        const Word mask =
            LaneMask([&](int w) { return shape.IntermediateOf(p, tile, w) < shape.intermediate; });
        FillWords(random, layer_.down_weight, shape.DownRow(kPartitions, expert, p, tile),
                  shape.hidden, mask);
      }
    }
    for (int row = 0; row < kScaleRows; ++row) {
      for (int tile = 0; tile < shape.intermediate_tiles(); ++tile) {
        if (shape.IntermediateOf(row * kGroupPartitions, tile, 0) < shape.intermediate) {
          FillScales(random, *layer_.down_scale, shape.DownRow(kScaleRows, expert, row, tile),
                     shape.hidden, shape.intermediate);
        }
      }
    }
  }

 private:
  static constexpr int kBits = 8 * sizeof(Word) / kLanes;

  template <typename IsReal>
  static Word LaneMask(const IsReal& is_real) {
    std::uint64_t mask = 0;
    for (int w = 0; w < kLanes; ++w) {
      if (is_real(w))
        mask |= ((std::uint64_t{1} << kBits) - 1) << (kBits * w);
    }
    return static_cast<Word>(mask);
  }

  void FillWords(Random& random, HostTensor& tensor, std::int64_t at, int count, Word mask) {
    if (mask == 0)
      return;
    const std::span<Word> row = tensor.words<Word>().subspan(at, count);
    const std::array<std::uint8_t, kQuantiles>& table = *table_;
    for (Word& word : row) {
      const std::uint64_t bits = random.Bits();
      std::uint64_t packed = 0;
      for (int w = 0; w < kLanes; ++w)
        packed |= std::uint64_t{table[bits >> (kQuantileBits * w) & 0xffff]} << (kBits * w);
      word = static_cast<Word>(packed & mask);
    }
  }

  void FillScales(Random& random, HostTensor& tensor, std::int64_t at, int count, int fan_in) {
    // The nearest power of two in the logarithm: frexp gives [1/2, 1) * 2^exponent.
    int exponent = 0;
    const double ratio = 1 / (std::sqrt(static_cast<double>(fan_in)) * sigma_);
    if (std::frexp(ratio, &exponent) < 0.7071067811865476)
      --exponent;
    for (std::uint8_t& scale : tensor.words<std::uint8_t>().subspan(at, count)) {
      constexpr std::array<int, 4> kSpread = {-1, 0, 0, 1};
      scale = static_cast<std::uint8_t>(127 + exponent + kSpread[random.Bits() >> 62]);
    }
  }

  LayerTensors& layer_;
  std::uint64_t seed_;
  double sigma_;
  std::unique_ptr<std::array<std::uint8_t, kQuantiles>> table_;
};

// bf16 and fp8: rows of one word per element.
template <typename Word, typename Encode>
void FillPlain(LayerTensors& layer, std::uint64_t seed, const Encode& encode) {
  const LayerShape& s = layer.shape;
  const auto gate_up = TableOf<Word>([&](float q) { return encode(q, s.hidden); });
  const auto down = TableOf<Word>([&](float q) { return encode(q, s.intermediate); });
  const std::span<Word> gate_up_words = layer.gate_up_weight.words<Word>();
  const std::span<Word> down_words = layer.down_weight.words<Word>();
  ParallelFor(s.experts, [&](int e) {
    Random random = StreamOf(seed, kGateUp, e);
    for (int h = 0; h < s.hidden; ++h) {
      for (int half = 0; half < 2; ++half) {
        const std::int64_t at =
            ((std::int64_t{e} * s.hidden_padded + h) * 2 + half) * s.intermediate_padded;
        DrawRow(random, *gate_up, gate_up_words.subspan(at, s.intermediate));
      }
    }
    random = StreamOf(seed, kDown, e);
    for (int i = 0; i < s.intermediate; ++i) {
      const std::int64_t at = (std::int64_t{e} * s.intermediate_padded + i) * s.hidden_padded;
      DrawRow(random, *down, down_words.subspan(at, s.hidden));
    }
  });
}

// Per output channel: 1 / (sqrt(fan-in) sigma), up to a quarter more or less.
void FillChannelScales(Random random, std::span<float> scales, int fan_in) {
  const double middle =
      1 / (std::sqrt(static_cast<double>(fan_in)) * CodeSigma(WeightLayout::kFp8));
  for (float& scale : scales)
    scale = static_cast<float>(middle * (0.75 + 0.5 * random.Uniform()));
}

template <typename Word>
void FillMx(LayerTensors& layer, std::uint64_t seed) {
  MxFiller<Word> filler(layer, seed);
  ParallelFor(layer.shape.experts, [&](int e) {
    filler.FillGateUp(e);
    filler.FillDown(e);
  });
}

void FillFp8(LayerTensors& layer, std::uint64_t seed) {
  const LayerShape& s = layer.shape;
  FillPlain<std::uint8_t>(layer, seed, [](float quantile, int) {
    return EncodeCode(WeightLayout::kFp8, quantile * CodeSigma(WeightLayout::kFp8));
  });
  for (int e = 0; e < s.experts; ++e) {
    const std::span<float> gate_up = layer.gate_up_scale->words<float>();
    for (int half = 0; half < 2; ++half) {
      const std::int64_t at = (std::int64_t{e} * 2 + half) * s.intermediate_padded;
      FillChannelScales(StreamOf(seed, kScale, 3 * e + half), gate_up.subspan(at, s.intermediate),
                        s.hidden);
    }
    const std::span<float> down = layer.down_scale->words<float>();
    FillChannelScales(StreamOf(seed, kScale, 3 * e + 2),
                      down.subspan(std::int64_t{e} * s.hidden_padded, s.hidden), s.intermediate);
  }
}

}  // namespace

ExpertBiases SeededBiases(const LayerConfig& config, std::uint64_t seed) {
  constexpr double kSigma = 0.25;
  const auto draw = [&](Stream stream, bool wanted, std::size_t count) {
    std::vector<float> values(wanted ? count : 0);
    Random random(seed, Mix(stream));
    for (float& value : values)
      value = static_cast<float>(kSigma * random.Normal());
    return values;
  };
  const std::size_t experts = config.experts;
  return {.gate = draw(kGateBias, config.gate_up_bias, experts * config.intermediate),
          .up = draw(kUpBias, config.gate_up_bias, experts * config.intermediate),
          .down = draw(kDownBias, config.down_bias, experts * config.hidden)};
}

void FillSeededWeights(LayerTensors& layer, std::uint64_t seed) {
  switch (layer.layout) {
    case WeightLayout::kBf16:
      FillPlain<std::uint16_t>(layer, seed, [](float quantile, int fan_in) {
        return Bf16::RoundFrom(static_cast<float>(quantile / std::sqrt(fan_in))).bits();
      });
      break;
    case WeightLayout::kFp8:
      FillFp8(layer, seed);
      break;
    case WeightLayout::kMxfp4:
      FillMx<std::uint16_t>(layer, seed);
      break;
    case WeightLayout::kMxfp8E4M3:
    case WeightLayout::kMxfp8E5M2:
      FillMx<std::uint32_t>(layer, seed);
      break;
  }
}

}  // namespace bwmm::inputs
