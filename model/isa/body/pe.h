// The TensorEngine's instructions: nc_matmul, nc_matmul_mx and nc_transpose are a LoadStationary
// followed by a MultiplyMoving. nc_matmul of fp32 is four passes of parts: two LoadStationary, each
// followed by two MultiplyMovings.
#pragma once

#include <optional>

#include "model/isa/description.h"
#include "model/isa/operand.h"
#include "model/isa/pe_mode.h"

namespace bwmm::isa {

struct LoadStationary {
  PeMode mode = PeMode::kOrdinary;
  Operand stationary;                           // [K, M], SBUF
  std::optional<Operand> scale = std::nullopt;  // MX: quadrant layout, [.., M], SBUF
  std::optional<PePart> part = std::nullopt;    // of fp32 elements

  static constexpr Traits kTraits{"load_stationary", kTheArray, Owner::kArray, Control::kNever};
  template <typename Self, typename Visitor>
  static void Describe(Self& i, Visitor& v) {
    v.Field("mode", i.mode);
    v.Field("part", i.part);
    v.Operand("stationary", {Role::kRead}, i.stationary);
    v.Operand("scale", {Role::kScaleRead}, i.scale);
  }
};

struct MultiplyMoving {
  PeMode mode = PeMode::kOrdinary;
  Operand dst;     // [M, N], PSUM
  Operand moving;  // [K, N], SBUF; transpose: the stationary operand again, unread
  std::optional<Operand> scale = std::nullopt;  // MX: quadrant layout, [.., N], SBUF
  bool accumulate = false;
  std::optional<PePart> part = std::nullopt;  // of fp32 elements

  static constexpr Traits kTraits{"multiply_moving", kTheArray, Owner::kArray, Control::kNever};
  template <typename Self, typename Visitor>
  static void Describe(Self& i, Visitor& v) {
    v.Field("mode", i.mode);
    v.Field("part", i.part);
    v.Operand("dst", {i.accumulate ? Role::kAccumulated : Role::kWritten}, i.dst);
    v.Operand("moving", {i.mode == PeMode::kTranspose ? Role::kUnread : Role::kRead}, i.moving);
    v.Operand("scale", {Role::kScaleRead}, i.scale);
    v.Field("accumulate", i.accumulate);
  }
};

using ArrayOps = OpList<LoadStationary, MultiplyMoving>;

}  // namespace bwmm::isa
