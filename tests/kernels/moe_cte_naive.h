// A second opinion on the MoE layer for the tests of the reference: from the routing (not from
// blocks), one multiplication at a time, formats from the machine's value types, quantisation by
// nearest table entry. It computes either exactly (double) or with a rounding wherever the machine
// has one, and it can make the mistakes that the comparison must find.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "host/layer_data.h"
#include "host/routing.h"
#include "model/numerics/bf16.h"
#include "model/numerics/e8m0.h"
#include "model/numerics/fp4.h"
#include "model/numerics/fp8.h"
#include "model/numerics/x4.h"

namespace bwmm {

enum class Mistake {
  kNone,
  kDownBiasTwice,
  kNoUpBias,
  kGateAndUpSwapped,
  kNoAffinity,
  kNoClamp,
  kLastTileMissing,
  kLanesReversed,
  kWrongActivation,
  kNeighbourToken,
  kOneExpertMissing,
};

class NaiveMoe {
 public:
  NaiveMoe(const host::LayerConfig& config, const host::LayerTensors& layer,
           const host::Routing& routing)
      : config_(config), layer_(layer), routing_(routing), mx_(host::IsMx(layer.layout)) {}

  bool rounded = false;             // round as the machine does
  bool split_intermediate = false;  // only matters when rounded
  Mistake mistake = Mistake::kNone;

  // [T, H], row-major.
  std::vector<double> Run() const {
    const int h_size = layer_.shape.hidden_padded;
    std::vector<double> out(static_cast<std::size_t>(routing_.tokens) * h_size, 0.0);
    for (int e = 0; e < routing_.experts; ++e) {
      if (mistake == Mistake::kOneExpertMissing && e == 1)
        continue;
      const Weights weights = Decode(e);
      for (int t = 0; t < routing_.tokens; ++t) {
        if (!IsRouted(t, e))
          continue;
        const double affinity = mistake == Mistake::kNoAffinity ? 1 : Affinity(t, e);
        const std::vector<double> row = Expert(weights, t, affinity);
        for (int h = 0; h < h_size; ++h) {
          double& sum = out[static_cast<std::size_t>(t) * h_size + h];
          const bool post = config_.affinity_scaling == host::AffinityScaling::kPostScale;
          const double term = post ? affinity * row[h] : row[h];
          sum = Round16(sum + (mx_ ? Round16(term) : term));
        }
      }
    }
    return out;
  }

  std::vector<std::uint16_t> RunToBf16() const {
    std::vector<std::uint16_t> words;
    for (const double value : Run())
      words.push_back(Bf16::RoundFrom(static_cast<float>(value)).bits());
    return words;
  }

 private:
  struct Weights {
    std::vector<double> gate_up[2];  // [H, I]
    std::vector<double> bias[2];     // [I]
    std::vector<double> down;        // [I, H]
    std::vector<double> down_bias;   // [H]
  };

  double Round16(double x) const {
    return rounded ? Bf16::RoundFrom(static_cast<float>(x)).ToFloat() : x;
  }
  double Round32(double x) const { return rounded ? static_cast<float>(x) : x; }

  bool IsRouted(int t, int e) const {
    const auto first = routing_.expert.begin() + std::ptrdiff_t{t} * routing_.top_k;
    return std::find(first, first + routing_.top_k, e) != first + routing_.top_k;
  }

  double Affinity(int t, int e) const {
    const std::size_t at = static_cast<std::size_t>(t) * routing_.experts + e;
    return layer_.affinities.dtype == DType::kFp32
               ? double{layer_.affinities.words<float>()[at]}
               : Bf16::FromBits(layer_.affinities.words<std::uint16_t>()[at]).ToFloat();
  }

  double Element(const host::HostTensor& tensor, std::size_t word, int lane) const {
    switch (tensor.dtype) {
      case DType::kBf16:
        return Bf16::FromBits(tensor.words<std::uint16_t>()[word]).ToFloat();
      case DType::kFp8E4M3Fn:
        return Fp8E4M3Fn::FromBits(tensor.words<std::uint8_t>()[word]).ToFloat();
      case DType::kFp4E2M1FnX4:
        return Fp4E2M1Fn::FromBits(UnpackFp4X4(tensor.words<std::uint16_t>()[word])[lane])
            .ToFloat();
      case DType::kFp8E4M3FnX4:
        return Fp8E4M3Fn::FromBits(UnpackFp8X4(tensor.words<std::uint32_t>()[word])[lane])
            .ToFloat();
      default:
        return Fp8E5M2::FromBits(UnpackFp8X4(tensor.words<std::uint32_t>()[word])[lane]).ToFloat();
    }
  }

  // h = w (H / 4) + 128 tile + p and i = 512 tile + 128 w + p, taken apart again.
  Weights Decode(int e) const {
    const std::size_t hs = layer_.shape.hidden_padded;
    const std::size_t is = layer_.shape.intermediate_padded;
    Weights out;
    out.down.resize(is * hs);
    for (std::size_t half = 0; half < 2; ++half) {
      out.gate_up[half].resize(hs * is);
      out.bias[half].assign(is, 0.0);
      for (std::size_t h = 0; h < hs; ++h) {
        for (std::size_t i = 0; i < is; ++i)
          out.gate_up[half][h * is + i] = GateUp(e, half, h, i);
      }
      for (std::size_t i = 0; i < is && layer_.gate_up_bias; ++i) {
        const std::size_t at =
            mx_ ? (((e * 128 + i % 128) * 2 + half) * (is / 512) + i / 512) * 4 + i / 128 % 4
                : (e * 2 + half) * is + i;
        out.bias[half][i] = Element(*layer_.gate_up_bias, at, 0);
      }
    }
    for (std::size_t i = 0; i < is; ++i) {
      for (std::size_t h = 0; h < hs; ++h)
        out.down[i * hs + h] = Down(e, i, h);
    }
    out.down_bias.assign(hs, 0.0);
    for (std::size_t h = 0; h < hs && layer_.down_bias; ++h)
      out.down_bias[h] = Element(*layer_.down_bias, e * hs + h, 0);
    if (mistake == Mistake::kGateAndUpSwapped)
      std::swap(out.gate_up[0], out.gate_up[1]);
    if (mistake == Mistake::kNoUpBias)
      out.bias[1].assign(is, 0.0);
    return out;
  }

  double GateUp(std::size_t e, std::size_t half, std::size_t h, std::size_t i) const {
    const std::size_t hs = layer_.shape.hidden_padded;
    const std::size_t is = layer_.shape.intermediate_padded;
    if (!mx_) {
      const double scale =
          layer_.gate_up_scale ? layer_.gate_up_scale->words<float>()[(e * 2 + half) * is + i] : 1;
      return scale * Element(layer_.gate_up_weight, ((e * hs + h) * 2 + half) * is + i, 0);
    }
    std::size_t lane = h / (hs / 4);
    const std::size_t tile = h % (hs / 4) / 128;
    const std::size_t p = h % 128;
    if (mistake == Mistake::kLanesReversed)
      lane = 3 - lane;
    const std::size_t tiles = hs / 512;
    const auto scale = E8M0::FromBits(
        layer_.gate_up_scale
            ->words<std::uint8_t>()[(((e * 16 + p / 8) * 2 + half) * tiles + tile) * is + i]);
    return scale.ToFloat() * Element(layer_.gate_up_weight,
                                     (((e * 128 + p) * 2 + half) * tiles + tile) * is + i,
                                     static_cast<int>(lane));
  }

  double Down(std::size_t e, std::size_t i, std::size_t h) const {
    const std::size_t hs = layer_.shape.hidden_padded;
    const std::size_t is = layer_.shape.intermediate_padded;
    if (!mx_) {
      const double scale = layer_.down_scale ? layer_.down_scale->words<float>()[e * hs + h] : 1;
      return scale * Element(layer_.down_weight, (e * is + i) * hs + h, 0);
    }
    const std::size_t tile = i / 512;
    const std::size_t lane = i / 128 % 4;
    const std::size_t p = i % 128;
    const std::size_t tiles = is / 512;
    if (mistake == Mistake::kLastTileMissing && tile == tiles - 1)
      return 0;
    const auto scale = E8M0::FromBits(
        layer_.down_scale->words<std::uint8_t>()[((e * 16 + p / 8) * tiles + tile) * hs + h]);
    return scale.ToFloat() * Element(layer_.down_weight, ((e * 128 + p) * tiles + tile) * hs + h,
                                     static_cast<int>(lane));
  }

  // The nearest e4m3fn value, of all there are; the even code on a tie.
  static double NearestE4M3(double x) {
    static const std::array<double, 0x7f> kValues = [] {
      std::array<double, 0x7f> values;
      for (int code = 0; code < 0x7f; ++code)
        values[code] = Fp8E4M3Fn::FromBits(static_cast<std::uint8_t>(code)).ToFloat();
      return values;
    }();
    int best = 0;
    for (int code = 1; code < 0x7f; ++code) {
      const double distance = std::abs(kValues[code] - std::abs(x));
      const double best_distance = std::abs(kValues[best] - std::abs(x));
      if (distance < best_distance || (distance == best_distance && code % 2 == 0))
        best = code;
    }
    return std::copysign(kValues[best], x);
  }

  // Quantises x[index(j, w)], j < 8, w < 4, with the x2 rule.
  static void Quantize(std::vector<double>& x, const std::function<std::size_t(int, int)>& index) {
    double amax = 0;
    for (int j = 0; j < 8; ++j) {
      for (int w = 0; w < 4; ++w)
        amax = std::max(amax, std::abs(x[index(j, w)]));
    }
    if (amax == 0)
      return;
    double scale = 1;
    while (amax / scale >= 256)
      scale *= 2;
    while (amax / scale < 128)
      scale /= 2;
    for (int j = 0; j < 8; ++j) {
      for (int w = 0; w < 4; ++w)
        x[index(j, w)] = scale * NearestE4M3(x[index(j, w)] / scale);
    }
  }

  double Activate(double x) const {
    if (mistake == Mistake::kWrongActivation)
      return x / (1 + std::exp(-x));
    switch (config_.activation) {
      case Activation::kSilu:
        return x / (1 + std::exp(-x));
      case Activation::kSwish:
        return x / (1 + std::exp(-1.702 * x));
      case Activation::kReluSquared:
        return x > 0 ? x * x : 0;
      default:
        return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    }
  }

  double Limit(double x, std::optional<float> lower, std::optional<float> upper) const {
    if (mistake == Mistake::kNoClamp)
      return x;
    return std::max(std::min(x, double{upper.value_or(INFINITY)}),
                    double{lower.value_or(-INFINITY)});
  }

  std::vector<double> Expert(const Weights& weights, int t, double affinity) const {
    const std::size_t hs = layer_.shape.hidden_padded;
    const std::size_t is = layer_.shape.intermediate_padded;
    const std::size_t row =
        mistake == Mistake::kNeighbourToken ? (t + 1) % routing_.tokens : std::size_t(t);
    std::vector<double> x(hs);
    for (std::size_t h = 0; h < hs; ++h) {
      x[h] = Bf16::FromBits(layer_.hidden.words<std::uint16_t>()[row * hs + h]).ToFloat();
      if (config_.affinity_scaling == host::AffinityScaling::kPreScale)
        x[h] = Bf16::RoundFrom(static_cast<float>(x[h] * affinity)).ToFloat();
    }
    for (std::size_t at = 0; mx_ && at < hs / 4; at += 8)
      Quantize(x, [&](int j, int w) { return w * (hs / 4) + at + j; });

    std::vector<double> y(is);
    for (std::size_t i = 0; i < is; ++i) {
      const double g =
          Limit(Middle(weights, 0, i, x), config_.gate_clamp_lower, config_.gate_clamp_upper);
      const double u =
          Limit(Middle(weights, 1, i, x), config_.up_clamp_lower, config_.up_clamp_upper);
      y[i] = Round16(Round16(Activate(g)) * u);
    }
    for (std::size_t at = 0; mx_ && rounded && at < is / 4; at += 8) {
      const std::size_t first = at / 128 * 512 + at % 128;
      Quantize(y, [&](int j, int w) { return first + w * 128 + j; });
    }
    std::vector<double> out(hs);
    for (std::size_t h = 0; h < hs; ++h)
      out[h] = DownRow(weights, h, y);
    return out;
  }

  // Gate or up of one element, with its bias.
  double Middle(const Weights& weights, int half, std::size_t i,
                const std::vector<double>& x) const {
    const std::size_t hs = layer_.shape.hidden_padded;
    const std::size_t is = layer_.shape.intermediate_padded;
    double sum = 0;
    if (mx_) {
      for (std::size_t tile = 0; tile < hs / 512; ++tile) {
        double pass = 0;
        for (std::size_t w = 0; w < 4; ++w) {
          for (std::size_t p = 0; p < 128; ++p) {
            const std::size_t h = w * (hs / 4) + tile * 128 + p;
            pass += x[h] * weights.gate_up[half][h * is + i];
          }
        }
        sum = Round16(sum + Round32(pass));
      }
      return Round16(sum + weights.bias[half][i]);
    }
    for (std::size_t h = 0; h < hs; ++h)
      sum = Round32(sum + x[h] * weights.gate_up[half][h * is + i]);
    return Round32(sum + weights.bias[half][i]);
  }

  double DownRow(const Weights& weights, std::size_t h, const std::vector<double>& y) const {
    const std::size_t hs = layer_.shape.hidden_padded;
    const std::size_t is = layer_.shape.intermediate_padded;
    // Of an odd number of MX tiles, core 0 has one more.
    const std::size_t half = mx_ ? (is / 512 + 1) / 2 * 512 : is / 2;
    const std::size_t ends[] = {split_intermediate ? half : is, is};
    double total = 0;
    for (std::size_t i = 0, core = 0; core < (split_intermediate ? 2 : 1); ++core) {
      double sum = 0;
      while (i < ends[core]) {
        if (!mx_) {
          sum = Round32(sum + y[i] * weights.down[i * hs + h]);
          ++i;
          continue;
        }
        double pass = 0;
        for (const std::size_t end = i + 512; i < end; ++i)
          pass += y[i] * weights.down[i * hs + h];
        sum = Round16(sum + Round32(pass));
      }
      total = split_intermediate ? Round16(total + Round16(sum)) : sum;
    }
    const double bias = weights.down_bias[h] * (mistake == Mistake::kDownBiasTwice ? 2 : 1);
    return mx_ || split_intermediate ? Round16(total + bias) : Round32(total + bias);
  }

  const host::LayerConfig& config_;
  const host::LayerTensors& layer_;
  const host::Routing& routing_;
  bool mx_;
};

}  // namespace bwmm
