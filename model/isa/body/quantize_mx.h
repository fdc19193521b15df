// quantize_mx. Its rules are in validate.cpp: they need the machine.
#pragma once

#include "model/isa/description.h"
#include "model/isa/operand.h"
#include "model/isa/scale_rule.h"

namespace bwmm::isa {

// dst [P, F/4] x4 words and dst_scale (quadrant layout) from src [P, F], bf16 or fp16.
struct QuantizeMx {
  Operand dst;
  Operand dst_scale;
  Operand src;
  ScaleRule rule = ScaleRule::kX2;

  static constexpr Traits kTraits{"quantize_mx", kAnyQueue, Owner::kOps, Control::kNever};
  template <typename Self, typename Visitor>
  static void Describe(Self& i, Visitor& v) {
    v.Operand("dst", {Role::kWritten}, i.dst);
    v.Operand("dst_scale", {Role::kScaleWritten}, i.dst_scale);
    v.Operand("src", {Role::kRead}, i.src);
    v.Field("rule", i.rule);
  }
};

}  // namespace bwmm::isa
