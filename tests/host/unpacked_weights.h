// Weights read back from a layer's tensors by the index formulas of the kernels' documentation, in
// double, with decoders of its own: nothing of the packer is used.
//
//   h = w (H / 4) + 128 tile + p        i = 512 tile + 128 w + p
#pragma once

#include <cmath>
#include <cstdint>

#include "host/layer_data.h"

namespace bwmm::host {

class UnpackedWeights {
 public:
  explicit UnpackedWeights(const LayerTensors& layer)
      : layer_(layer),
        h_(layer.gate_up_weight.shape.size() == 5 ? 512 * layer.gate_up_weight.shape[3]
                                                  : layer.gate_up_weight.shape[1]),
        i_(layer.gate_up_weight.shape.back()),
        mx_(layer.gate_up_weight.shape.size() == 5) {}

  double GateUp(std::int64_t e, std::int64_t half, std::int64_t h, std::int64_t i) const {
    if (!mx_) {
      const double scale =
          layer_.gate_up_scale ? layer_.gate_up_scale->words<float>()[(2 * e + half) * i_ + i] : 1;
      return scale * Code(layer_.gate_up_weight, i + i_ * (half + 2 * (h + h_ * e)), 0);
    }
    const std::int64_t tiles = h_ / 512;
    const std::int64_t w = h * 4 / h_;
    const std::int64_t tile = (h - w * h_ / 4) / 128;
    const std::int64_t p = h % 128;
    const std::int64_t row = tile + tiles * (half + 2 * (p + 128 * e));
    const std::int64_t scale_row = tile + tiles * (half + 2 * (p / 8 + 16 * e));
    return Scale(*layer_.gate_up_scale, i + i_ * scale_row) *
           Code(layer_.gate_up_weight, i + i_ * row, static_cast<int>(w));
  }

  double Down(std::int64_t e, std::int64_t i, std::int64_t h) const {
    if (!mx_) {
      const double scale = layer_.down_scale ? layer_.down_scale->words<float>()[e * h_ + h] : 1;
      return scale * Code(layer_.down_weight, h + h_ * (i + i_ * e), 0);
    }
    const std::int64_t tiles = i_ / 512;
    const std::int64_t p = i % 128;
    const std::int64_t row = i / 512 + tiles * (p + 128 * e);
    const std::int64_t scale_row = i / 512 + tiles * (p / 8 + 16 * e);
    return Scale(*layer_.down_scale, h + h_ * scale_row) *
           Code(layer_.down_weight, h + h_ * row, static_cast<int>(i % 512 / 128));
  }

  double GateUpBias(std::int64_t e, std::int64_t half, std::int64_t i) const {
    const std::int64_t at =
        mx_ ? i % 512 / 128 + 4 * (i / 512 + i_ / 512 * (half + 2 * (i % 128 + 128 * e)))
            : i + i_ * (half + 2 * e);
    return Code(*layer_.gate_up_bias, at, 0);
  }

  double DownBias(std::int64_t e, std::int64_t h) const {
    return Code(*layer_.down_bias, h + h_ * e, 0);
  }

 private:
  static double Field(unsigned code, int exponent_bits, int mantissa_bits, int bias) {
    const int exponent = static_cast<int>(code >> mantissa_bits & ((1u << exponent_bits) - 1));
    const int mantissa = static_cast<int>(code & ((1u << mantissa_bits) - 1));
    const double magnitude = std::ldexp(exponent > 0 ? mantissa + (1 << mantissa_bits) : mantissa,
                                        (exponent > 0 ? exponent : 1) - bias - mantissa_bits);
    return code >> (exponent_bits + mantissa_bits) & 1 ? -magnitude : magnitude;
  }

  static double Scale(const HostTensor& tensor, std::int64_t at) {
    return std::ldexp(1.0, tensor.words<std::uint8_t>()[at] - 127);
  }

  static double Code(const HostTensor& tensor, std::int64_t word, int lane) {
    switch (tensor.dtype) {
      case DType::kBf16:
        return Field(tensor.words<std::uint16_t>()[word], 8, 7, 127);
      case DType::kFp8E4M3Fn:
        return Field(tensor.words<std::uint8_t>()[word], 4, 3, 7);
      case DType::kFp4E2M1FnX4:
        return Field(tensor.words<std::uint16_t>()[word] >> (4 * lane) & 0xf, 2, 1, 1);
      case DType::kFp8E4M3FnX4:
        return Field(tensor.words<std::uint32_t>()[word] >> (8 * lane) & 0xff, 4, 3, 7);
      default:
        return Field(tensor.words<std::uint32_t>()[word] >> (8 * lane) & 0xff, 5, 2, 15);
    }
  }

  const LayerTensors& layer_;
  std::int64_t h_;
  std::int64_t i_;
  bool mx_;
};

}  // namespace bwmm::host
