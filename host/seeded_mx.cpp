#include "host/seeded_mx.h"

#include <array>
#include <cmath>
#include <memory>
#include <span>

#include "host/normal_table.h"
#include "host/parallel.h"
#include "host/weight_stream.h"
#include "model/numerics/encode.h"

namespace bwmm::host {
namespace {

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

// Rows of x4 words and their scales. A lane whose contraction index is padding stays zero, and a
// group of nothing but padding keeps the scale 0x00.
template <typename Word>
class MxFiller {
 public:
  MxFiller(LayerTensors& layer, std::uint64_t seed)
      : layer_(layer), seed_(seed), sigma_(CodeSigma(layer.layout)) {
    const DType words = WeightDType(layer.layout);
    table_ = TableOf<std::uint8_t>(
        [&](float quantile) { return EncodeLane(words, static_cast<float>(quantile * sigma_)); });
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

template <typename Word>
void FillMx(LayerTensors& layer, std::uint64_t seed) {
  MxFiller<Word> filler(layer, seed);
  ParallelFor(layer.shape.experts, [&](int e) {
    filler.FillGateUp(e);
    filler.FillDown(e);
  });
}

}  // namespace

void FillSeededMx(LayerTensors& layer, std::uint64_t seed) {
  if (SizeOf(WeightDType(layer.layout)) == sizeof(std::uint16_t))
    FillMx<std::uint16_t>(layer, seed);
  else
    FillMx<std::uint32_t>(layer, seed);
}

}  // namespace bwmm::host
