// The element-wise middle of the expert FFN: act(clamp(gate + bias)) * clamp(up + bias).
//
//   gate PSUM --(+ bias, min, max)--> [T] --activation--> bf16 --+
//                                                                * --> inter (bf16)
//   up   PSUM --(+ bias, min, max)--> [T] -----------------------+
//
// T is bf16 in the MX variants and fp32 in the others (docs/numerics.md).
#pragma once

#include <optional>

#include "kernels/lang/core.h"
#include "kernels/moe_cte/moe_cte.h"

namespace bwmm::kernels {

class GatedActivation {
 public:
  // Handles up to `columns` tokens at a time.
  GatedActivation(lang::Core& nki, const MoeCteArgs& args, DType middle, std::int64_t columns);

  // inter [P, n] from PSUM tiles gate and up [P, n]; biases are [P, 1].
  void Apply(const lang::View& inter, const lang::View& gate, const lang::View& up,
             const std::optional<lang::View>& gate_bias, const std::optional<lang::View>& up_bias);

 private:
  // `source` itself when there is nothing to do, else a result in `buffer`.
  lang::View BiasAndClamp(const lang::View& buffer, const lang::View& source,
                          const std::optional<lang::View>& bias, std::optional<float> upper,
                          std::optional<float> lower, lang::Engine engine);

  lang::Core& nki_;
  const MoeCteArgs& args_;
  lang::RotatingTile gate_, up_, activated_;
  std::int64_t calls_ = 0;
};

}  // namespace bwmm::kernels
