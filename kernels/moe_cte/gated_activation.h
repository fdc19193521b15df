// The element-wise middle of the expert FFN: act(clamp(gate)) * clamp(up).
//
//   gate PSUM --(* scale, + bias, min, max)--> [T] --activation--> bf16 --+
//                                                                         * --> inter (bf16)
//   up   PSUM --(* scale, + bias, min, max)--> [T] -----------------------+
//
// T is bf16 in the MX variants and fp32 in the others (docs/numerics.md).
#pragma once

#include <array>
#include <optional>

#include "kernels/lang/core.h"
#include "kernels/moe_cte/moe_cte.h"

namespace bwmm::kernels {

class GatedActivation {
 public:
  struct Input {
    lang::View psum;                                 // [P, n]
    std::optional<lang::View> scale = std::nullopt;  // [P, 1]
    std::optional<lang::View> bias = std::nullopt;   // [P, 1]
  };
  using Inputs = std::array<Input, 2>;  // gate, up

  // Handles up to `columns` tokens at a time. With `checkpoint` both clamped inputs are kept in
  // bf16.
  GatedActivation(lang::Core& nki, const MoeCteArgs& args, DType middle, std::int64_t columns,
                  bool checkpoint = false);

  // inter [P, n]
  void Apply(const lang::View& inter, const Inputs& inputs);
  // The clamped gate (0) or up (1) of the Apply before, bf16 [P, n].
  lang::View checkpoint(int gate_or_up, const Inputs& inputs) const;

 private:
  // `source` itself when there is nothing to do, else a result in `buffer`.
  lang::View ScaleBiasClamp(const lang::View& buffer, const Input& input,
                            std::optional<float> upper, std::optional<float> lower,
                            lang::Engine engine);
  lang::View Part(const lang::RotatingTile& tiles, std::int64_t call, const Inputs& inputs) const;

  lang::Core& nki_;
  const MoeCteArgs& args_;
  std::array<lang::RotatingTile, 2> clamped_, checkpoint_;
  lang::RotatingTile activated_;
  std::int64_t calls_ = 0;
};

}  // namespace bwmm::kernels
