// The rounding points of the seven variants, one multiplication at a time, from the bytes in HBM.
//
//   hidden --> gate, up --> act * up --> down of each core --> rows of the output
//
// Written from "What rounds where in moe_cte" in docs/numerics.md, with its own number formats.
// Only the values of the activation functions come from the model: they have an oracle of their
// own.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

#include "model/ops/activation.h"
#include "tests/kernels/layer_run.h"

namespace bwmm::testing_layers {

class RoundingOrder {
 public:
  RoundingOrder(LayerRun& run, const Layer& layer)
      : job_(run.job()),
        layer_(layer),
        mx_(IsMx(layer.variant)),
        hidden_(job_.shape().hidden_padded),
        intermediate_(job_.shape().intermediate_padded) {}

  // Columns of I that the kernel works on at once, where it takes I in chunks.
  void set_chunk(int columns) { chunk_ = columns; }

  // The output's row of `token`, as bf16 words.
  std::vector<std::uint16_t> Row(int token) {
    const bool planes = layer_.variant == kernels::MoECTEImplementation::shard_on_block ||
                        layer_.variant == kernels::MoECTEImplementation::shard_on_block_mx;
    std::array<std::vector<float>, 2> plane;
    for (auto& row : plane)
      row.assign(hidden_, 0.0f);
    const host::BlockLayout& layout = job_.layout();
    for (int n = 0; n < layout.blocks; ++n) {
      const auto ids = layout.token_position_to_id.begin() + std::ptrdiff_t{n} * layout.block_size;
      if (std::find(ids, ids + layout.block_size, token) != ids + layout.block_size)
        AddBlock(token, layout.block_to_expert[n], plane[planes ? CoreOf(n) : 0]);
    }
    std::vector<std::uint16_t> words;
    for (int h = 0; h < hidden_; ++h)
      words.push_back(Bits16(planes ? Round16(plane[0][h] + plane[1][h]) : plane[0][h]));
    return words;
  }

 private:
  static constexpr int kPass = 128;  // rows of the PE array

  // RNE to bf16 on the bits; no test value is NaN.
  static float Round16(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u);
  }
  static std::uint16_t Bits16(float x) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
  }

  const std::byte* Find(std::string_view name) const {
    for (const auto& [address, tensor] : job_.hbm().tensors()) {
      if (tensor->name == name)
        return tensor->data.data();
    }
    return nullptr;
  }
  template <typename T>
  T At(const std::byte* tensor, std::int64_t i) {
    T value;
    std::memcpy(&value, tensor + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return value;
  }
  float Bf16At(const std::byte* tensor, std::int64_t i) {
    return std::bit_cast<float>(std::uint32_t{At<std::uint16_t>(tensor, i)} << 16);
  }
  // Sign, exponent field, mantissa of e4m3fn (bias 7), e5m2 (bias 15) and e2m1 (bias 1).
  static double Small(int code, int exponent_bits, int mantissa_bits, int bias) {
    const int mantissa = code & ((1 << mantissa_bits) - 1);
    const int field = code >> mantissa_bits & ((1 << exponent_bits) - 1);
    const double value =
        field == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                   : std::ldexp(mantissa + (1 << mantissa_bits), field - bias - mantissa_bits);
    return code >> (mantissa_bits + exponent_bits) & 1 ? -value : value;
  }
  double MxElement(const std::byte* tensor, std::int64_t word, int lane) {
    if (layer_.weights == host::WeightLayout::kMxfp8E5M2)
      return Small(At<std::uint32_t>(tensor, word) >> (8 * lane) & 0xff, 5, 2, 15);
    if (layer_.weights == host::WeightLayout::kMxfp4)
      return Small(At<std::uint16_t>(tensor, word) >> (4 * lane) & 0xf, 2, 1, 1);
    return Small(At<std::uint32_t>(tensor, word) >> (8 * lane) & 0xff, 4, 3, 7);
  }
  float DenseElement(const std::byte* tensor, std::int64_t i) {
    return layer_.weights == host::WeightLayout::kBf16
               ? Bf16At(tensor, i)
               : static_cast<float>(Small(At<std::uint8_t>(tensor, i), 4, 3, 7));
  }

  // Values of e4m3fn, and the exponent of the scale, of 8 x 4 values.
  struct Quantized {
    std::array<double, 32> value;
    int exponent;
  };
  static Quantized Quantize(const std::array<float, 32>& from) {
    float largest = 0;
    for (const float each : from)
      largest = std::max(largest, std::fabs(each));
    Quantized to{.value = {}, .exponent = largest > 0 ? std::ilogb(largest) - 7 : -127};
    for (int i = 0; i < 32; ++i) {
      const double scaled = std::ldexp(double{from[i]}, -to.exponent);
      const int binade = scaled == 0 ? -6 : std::max(-6, std::ilogb(scaled));
      to.value[i] = std::ldexp(std::nearbyint(std::ldexp(scaled, 3 - binade)), binade - 3);
    }
    return to;
  }

  // One pass of the array in MX mode: groups in order, one rounding per group and addition.
  template <typename Word>
  float MxPass(const std::byte* weight, const std::byte* scale, const Quantized* x, Word word,
               Word scale_word) {
    float p = 0;
    for (int g = 0; g < 16; ++g) {
      long double sum = 0;  // 64 bits: exact for e5m2 times e4m3fn, which need 56
      for (int row = 0; row < 8; ++row) {
        for (int lane = 0; lane < 4; ++lane)
          sum += static_cast<long double>(MxElement(weight, word(8 * g + row), lane)) *
                 x[g].value[4 * row + lane];
      }
      const int exponent = At<std::uint8_t>(scale, scale_word(g)) - 127 + x[g].exponent;
      p = p + static_cast<float>(std::ldexp(sum, exponent));
    }
    return p;
  }

  int CoreOf(int block) const {
    if (layer_.variant == kernels::MoECTEImplementation::shard_on_block)
      return block % 2;
    return block < job_.layout().blocks / 2 ? 0 : 1;  // all static: contiguous halves
  }

  float Affinity(int token, int expert) {
    const std::int64_t i = std::int64_t{token} * layer_.experts + expert;
    return mx_ ? At<float>(affinities_, i) : Bf16At(affinities_, i);
  }

  // gate [I] and up [I] after scale, bias and clamp.
  void Finish(int expert, int i, float (&g)[2]) {
    for (const int half : {0, 1}) {
      if (layer_.weights == host::WeightLayout::kFp8)
        g[half] = g[half] *
                  At<float>(gate_up_scale_, (std::int64_t{expert} * 2 + half) * intermediate_ + i);
      if (layer_.biases) {
        const int tile = i / 512, lane = i / kPass % 4, p = i % kPass;
        const std::int64_t at =
            mx_ ? (((std::int64_t{expert} * kPass + p) * 2 + half) * (intermediate_ / 512) + tile) *
                          4 +
                      lane
                : (std::int64_t{expert} * 2 + half) * intermediate_ + i;
        g[half] = g[half] + Bf16At(gate_up_bias_, at);
        g[half] = mx_ ? Round16(g[half]) : g[half];
      }
    }
    if (layer_.clamps) {
      g[0] = std::min(g[0], 0.75f);
      g[1] = std::max(std::min(g[1], 1.0f), -0.5f);
    }
  }
  float Gated(const float (&g)[2]) const {
    return Round16(Round16(ops::Activate(layer_.activation, g[0])) * g[1]);
  }

  std::vector<float> InterDense(int expert, const std::vector<float>& x) {
    std::vector<float> inter;
    for (int i = 0; i < intermediate_; ++i) {
      float g[2];
      for (const int half : {0, 1}) {
        for (int first = 0; first < hidden_; first += kPass) {
          float p = 0;
          for (int h = first; h < first + kPass; ++h) {
            const std::int64_t at =
                ((std::int64_t{expert} * hidden_ + h) * 2 + half) * intermediate_ + i;
            p = std::fma(DenseElement(gate_up_weight_, at), x[h], p);
          }
          g[half] = first == 0 ? p : g[half] + p;
        }
      }
      Finish(expert, i, g);
      inter.push_back(Gated(g));
    }
    return inter;
  }

  std::vector<float> InterMx(int expert, const std::vector<float>& x) {
    const int tiles = hidden_ / 512;
    std::vector<Quantized> blocks;  // [tile][group]
    for (int tile = 0; tile < tiles; ++tile) {
      for (int group = 0; group < 16; ++group) {
        std::array<float, 32> values;
        for (int k = 0; k < 32; ++k)
          values[k] = x[k % 4 * (hidden_ / 4) + tile * kPass + group * 8 + k / 4];
        blocks.push_back(Quantize(values));
      }
    }
    std::vector<float> inter;
    for (int i = 0; i < intermediate_; ++i) {
      float g[2];
      for (const int half : {0, 1}) {
        for (int tile = 0; tile < tiles; ++tile) {
          const auto at = [&](int rows) {
            return [=, this](int row) {
              return (((std::int64_t{expert} * rows + row) * 2 + half) * tiles + tile) *
                         intermediate_ +
                     i;
            };
          };
          const float p = MxPass(gate_up_weight_, gate_up_scale_, &blocks[16 * tile],
                                 std::function<std::int64_t(int)>(at(kPass)),
                                 std::function<std::int64_t(int)>(at(16)));
          g[half] = Round16(tile == 0 ? p : g[half] + p);
        }
      }
      Finish(expert, i, g);
      inter.push_back(Gated(g));
    }
    return inter;
  }

  // Elements [begin, end) of I times the down weights, column h, as PSUM holds it.
  float DownDense(int expert, const std::vector<float>& inter, int begin, int end, int h) {
    float sum = 0;
    for (int chunk = begin; chunk < end; chunk += chunk_) {
      const int chunk_end = std::min(end, chunk + chunk_);
      float psum = 0;
      for (int first = chunk; first < chunk_end; first += kPass) {
        float p = 0;
        for (int i = first; i < std::min(chunk_end, first + kPass); ++i) {
          const std::int64_t at = (std::int64_t{expert} * intermediate_ + i) * hidden_ + h;
          p = std::fma(inter[i], DenseElement(down_weight_, at), p);
        }
        psum = first == chunk ? p : psum + p;
      }
      sum = chunk == begin ? psum : psum + sum;
    }
    if (layer_.weights == host::WeightLayout::kFp8)
      sum = sum * At<float>(down_scale_, std::int64_t{expert} * hidden_ + h);
    return sum;
  }
  float DownMx(int expert, const std::vector<Quantized>& inter, int begin, int end, int h) {
    const int tiles = intermediate_ / 512;
    float sum = 0;
    for (int tile = begin / 512; tile < end / 512; ++tile) {
      const auto at = [&](int rows) {
        return std::function<std::int64_t(int)>([=, this](int row) {
          return ((std::int64_t{expert} * rows + row) * tiles + tile) * hidden_ + h;
        });
      };
      const float p = MxPass(down_weight_, down_scale_, &inter[16 * tile], at(kPass), at(16));
      sum = Round16(tile == begin / 512 ? p : sum + p);
    }
    return sum;
  }

  // out = out + p * (down + bias) for one row of one block.
  void AddBlock(int token, int expert, std::vector<float>& out) {
    using host::AffinityScaling;
    const float affinity = Affinity(token, expert);
    const bool on_I = layer_.kernel.shard_on_I.expert_affinity_multiply_on_I;
    std::vector<float> x(hidden_);
    for (int h = 0; h < hidden_; ++h) {
      x[h] = Bf16At(hidden_states_, std::int64_t{token} * hidden_ + h);
      if (layer_.scaling == AffinityScaling::kPreScale)
        x[h] = Round16(x[h] * affinity);
    }
    std::vector<float> inter = mx_ ? InterMx(expert, x) : InterDense(expert, x);
    std::vector<Quantized> blocks;
    for (int group = 0; mx_ && group < intermediate_ / 32; ++group) {
      std::array<float, 32> values;
      for (int k = 0; k < 32; ++k)
        values[k] = inter[group / 16 * 512 + k % 4 * kPass + group % 16 * 8 + k / 4];
      blocks.push_back(Quantize(values));
    }
    for (float& value : inter)
      value = on_I ? Round16(value * affinity) : value;

    const bool halves = layer_.variant != kernels::MoECTEImplementation::shard_on_block &&
                        layer_.variant != kernels::MoECTEImplementation::shard_on_block_mx;
    const auto down = [&](int begin, int end, int h) {
      return mx_ ? DownMx(expert, blocks, begin, end, h) : DownDense(expert, inter, begin, end, h);
    };
    const bool scale = layer_.scaling == AffinityScaling::kPostScale && !on_I;
    for (int h = 0; h < hidden_; ++h) {
      const float bias =
          layer_.biases ? Bf16At(down_bias_, std::int64_t{expert} * hidden_ + h) : 0.0f;
      float row = 0;
      if (halves) {
        const int half = mx_ ? (intermediate_ / 512 + 1) / 2 * 512 : intermediate_ / 2;
        row = Round16(Round16(down(0, half, h)) + Round16(down(half, intermediate_, h)));
        if (layer_.biases)
          row = Round16(on_I ? bias * affinity + row : row + bias);
      } else {
        row = down(0, intermediate_, h);
        if (layer_.biases)
          row = mx_ ? Round16(row + bias) : row + bias;
      }
      if (scale)
        row = mx_ ? Round16(row * affinity) : row * affinity;
      out[h] = Round16(row + out[h]);
    }
  }

  workloads::LayerJob& job_;
  const Layer& layer_;
  bool mx_;
  int hidden_, intermediate_;
  int chunk_ = 1 << 30;
  // The tensors' bytes; null where the layer has none.
  const std::byte *hidden_states_ = Find("hidden_states"), *affinities_ = Find("expert_affinities"),
                  *gate_up_weight_ = Find("gate_up_weight"), *down_weight_ = Find("down_weight"),
                  *gate_up_scale_ = Find("gate_up_scale"), *down_scale_ = Find("down_scale"),
                  *gate_up_bias_ = Find("gate_up_bias"), *down_bias_ = Find("down_bias");
};

}  // namespace bwmm::testing_layers
