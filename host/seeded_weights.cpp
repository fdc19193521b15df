#include "host/seeded_weights.h"

#include <array>
#include <cmath>
#include <span>

#include "host/fp8_weight.h"
#include "host/normal_table.h"
#include "host/parallel.h"
#include "host/seeded_mx.h"
#include "host/weight_stream.h"
#include "model/numerics/bf16.h"

namespace bwmm::host {
namespace {

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

// Standard deviation of the drawn codes: the tails fit below 240.
constexpr double kFp8Sigma = 64;

// Per output channel: 1 / (sqrt(fan-in) sigma), up to a quarter more or less.
void FillChannelScales(Random random, std::span<float> scales, int fan_in) {
  const double middle = 1 / (std::sqrt(static_cast<double>(fan_in)) * kFp8Sigma);
  for (float& scale : scales)
    scale = static_cast<float>(middle * (0.75 + 0.5 * random.Uniform()));
}

void FillFp8(LayerTensors& layer, std::uint64_t seed) {
  const LayerShape& s = layer.shape;
  FillPlain<std::uint8_t>(layer, seed, [](float quantile, int) {
    return EncodeFp8Weight(static_cast<float>(quantile * kFp8Sigma));
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
  const auto draw = [&](WeightStream stream, bool wanted, std::size_t count) {
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
    case WeightLayout::kMxfp8E4M3:
    case WeightLayout::kMxfp8E5M2:
      FillSeededMx(layer, seed);
      break;
  }
}

}  // namespace bwmm::host
