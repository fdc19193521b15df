#include "model/isa/validate.h"

#include <fmt/format.h>

#include "model/isa/operand_check.h"
#include "model/isa/operand_use.h"
#include "model/isa/text.h"
#include "model/numerics/scale_group.h"
#include "model/support/sim_error.h"

namespace bwmm::isa {
namespace {

// Moving rows per MultiplyMoving, by PSUM element size: all 8 banks on gen4, one bank before.
constexpr std::int64_t kMaxMovingGen4Fp32 = 4096;
constexpr std::int64_t kMaxMovingGen3 = 512;

class Validator : public OperandCheck {
 public:
  using OperandCheck::OperandCheck;

  // What the description says of each operand; the rules of single instructions are below.
  void Described() const {
    const Operand* dst = nullptr;
    ForEachOperand(instruction().body, [&](const OperandUse& use) {
      if (use.name == "dst")
        dst = &use.operand;
      InPlace(use.use.place, use.operand);
      OfShape(use.use.shape, use.operand, dst);
    });
  }

  // Rules beside the description; an instruction without either kind does not compile.
  template <typename Op>
  void operator()(const Op& op) const {
    op.Rules(*this);
  }
  void operator()(const LoadStationary& i) const {
    RequireMx(i.mode, i.scale.has_value());
    RequireWhole(i.mode, i.part.has_value());
    Require(i.stationary.memory == Memory::kSbuf, "stationary must be in SBUF", i.stationary);
    Ranked(i.stationary);
    Place(i.stationary);
    const std::int64_t widest = RowsInOne(i.mode) * limits().psum_partitions;
    Require(i.stationary.free_size() <= widest,
            fmt::format("stationary free size must be at most {}", widest), i.stationary);
    if (i.mode == PeMode::kMx) {
      Require(i.stationary.partitions % kQuadrantPartitions == 0,
              "MX partitions must be a multiple of 32", i.stationary);
      Require(i.stationary.free_size() % 2 == 0, "MX stationary free size must be even",
              i.stationary);
      Require(IsX4(i.stationary.dtype), "MX operands must be x4 types", i.stationary);
      PeScale(*i.scale, i.stationary);
    } else if (i.mode == PeMode::kOrdinary) {
      PeType(i.stationary, i.part);
    } else if (i.mode == PeMode::kDoubleRow) {
      DoubleRow(i.stationary);
    }
  }

  void operator()(const MultiplyMoving& i) const {
    RequireMx(i.mode, i.scale.has_value());
    RequireWhole(i.mode, i.part.has_value());
    Require(i.dst.memory == Memory::kPsum, "dst must be in PSUM", i.dst);
    Require(i.dst.partition == 0 && i.dst.contiguous_run() == i.dst.free_size(),
            "dst must be dense and start at partition 0", i.dst);
    const std::int64_t widest =
        limits().generation >= 4 ? kMaxMovingGen4Fp32 * 4 / SizeOf(i.dst.dtype) : kMaxMovingGen3;
    Require(i.dst.free_size() <= widest, fmt::format("moving free size must be at most {}", widest),
            i.dst);
    Place(i.dst);
    Require(i.dst.offset % SizeOf(i.dst.dtype) == 0, "dst must start at a whole element", i.dst);
    if (i.mode == PeMode::kTranspose) {
      Require(!i.accumulate, "a transpose never accumulates", i.dst);
      return;
    }
    Require(i.moving.memory == Memory::kSbuf, "moving must be in SBUF", i.moving);
    Ranked(i.moving);
    Place(i.moving);
    const std::int64_t elements = RowsInOne(i.mode) * i.dst.free_size();
    Require(i.moving.free_size() == elements,
            fmt::format("moving free size must be {}, {} of dst's elements", elements,
                        i.mode == PeMode::kDoubleRow ? "twice the number" : "the number"),
            i.moving);
    Require(
        i.dst.dtype == DType::kFp32 || (i.dst.dtype == DType::kBf16 && limits().generation >= 4),
        limits().generation >= 4 ? "dst must be float32 or bfloat16" : "dst must be float32",
        i.dst);
    if (i.mode == PeMode::kMx) {
      Require(IsX4(i.moving.dtype), "MX operands must be x4 types", i.moving);
      PeScale(*i.scale, i.moving);
    } else if (i.mode == PeMode::kDoubleRow) {
      DoubleRow(i.moving);
    } else {
      PeType(i.moving, i.part);
    }
  }

  void operator()(const QuantizeMx& i) const {
    if (limits().generation < 4)
      Refuse(fmt::format("quantize_mx needs generation 4 (trn3), this machine is generation {}",
                         limits().generation));
    Require(i.src.memory == Memory::kSbuf, "src must be in SBUF", i.src);
    Require(i.src.dtype == DType::kBf16 || i.src.dtype == DType::kFp16,
            "src must be bfloat16 or float16", i.src);
    Require(i.dst.dtype == DType::kFp8E4M3FnX4 || i.dst.dtype == DType::kFp8E5M2X4,
            "dst must be float8_e4m3fn_x4 or float8_e5m2_x4", i.dst);
    Require(i.dst.memory == Memory::kSbuf, "dst must be in SBUF", i.dst);
    Require(i.src.partitions % kQuadrantPartitions == 0, "partitions must be a multiple of 32",
            i.src);
    Require(i.src.free_size() == kMxGroup.lanes * i.dst.free_size(),
            fmt::format("src must have {} elements per dst word", kMxGroup.lanes), i.src);
    Require(i.dst.partitions == i.src.partitions,
            fmt::format("dst must have src's {} partitions", i.src.partitions), i.dst);
    Require(i.src.contiguous_run() == i.src.free_size(), "src must be dense", i.src);
    Place(i.src);
    Place(i.dst);
    Scale(i.dst_scale, i.dst);
  }

  void operator()(const DmaCopy& i) const {
    Require(i.dst.free_size() == i.src.free_size(),
            fmt::format("src must have dst's {} elements per row", i.dst.free_size()), i.src);
    const bool broadcast = i.src.partitions == 1 && !i.gather;
    Require(i.dst.partitions == i.src.partitions || broadcast,
            fmt::format("src must have dst's {} rows, or without gather one to broadcast",
                        i.dst.partitions),
            i.src);
    Require((!IsBytesOnly(i.dst.dtype) && !IsBytesOnly(i.src.dtype)) || i.dst.dtype == i.src.dtype,
            "x4 types are never converted", i.dst);
    if ((i.gather || i.src_offset) && (i.scatter || i.dst_offset))
      Refuse("a DMA has a dynamic source or a dynamic destination, not both");
    Rows(i.gather, i.src);
    Rows(i.scatter, i.dst);
    Offset(i.src_offset, i.src);
    Offset(i.dst_offset, i.dst);
  }
  void operator()(const DmaCompute& i) const {
    constexpr std::string_view kNoArithmetic = "x4 and carrier types have no element arithmetic";
    Require(!i.sources.empty(), "at least one source is needed", i.dst);
    Require(!IsBytesOnly(i.dst.dtype), kNoArithmetic, i.dst);
    for (const Operand& source : i.sources)
      Require(!IsBytesOnly(source.dtype), kNoArithmetic, source);
  }
  void operator()(const SendRecv& i) const {
    Require(i.src.memory == Memory::kSbuf, "src must be in SBUF", i.src);
    Require(i.dst.memory == Memory::kSbuf, "dst must be in SBUF", i.dst);
    Require(i.src.dtype == i.dst.dtype && i.src.partitions == i.dst.partitions &&
                i.src.free_size() == i.dst.free_size(),
            "src must have dst's shape and type", i.src);
    const bool apart = i.src.partition + i.src.partitions <= i.dst.partition ||
                       i.dst.partition + i.dst.partitions <= i.src.partition ||
                       static_cast<std::int64_t>(i.src.offset) + i.src.span_bytes() <=
                           static_cast<std::int64_t>(i.dst.offset) ||
                       static_cast<std::int64_t>(i.dst.offset) + i.dst.span_bytes() <=
                           static_cast<std::int64_t>(i.src.offset);
    Require(apart, fmt::format("src must not overlap dst {}", ToText(i.dst)), i.src);
    if (i.peer < 0 || i.peer >= limits().cores || i.peer == instruction().core)
      Refuse(fmt::format("peer {} must be another of the {} cores", i.peer, limits().cores));
  }
  void operator()(const CoreBarrier& i) const {
    Require(i.data.memory == Memory::kHbm, "data must be a shared HBM tensor", i.data);
  }
  void operator()(const RegisterLoad& i) const {
    Require(i.src.elements() == 1 && i.src.dtype == DType::kInt32, "src must be one int32", i.src);
  }
};

}  // namespace

void Validate(const Instruction& instruction, const Limits& limits) {
  const Traits& traits = TraitsOf(instruction.body);
  if (!traits.allows(instruction.engine)) {
    std::string allowed;
    for (int e = 0; e < kEngines; ++e) {
      if (traits.allows(static_cast<Engine>(e)))
        allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", NameOf(static_cast<Engine>(e)));
    }
    throw SimError("instruction {} ({}) on core {}: engine {}, allowed {}", instruction.id,
                   traits.opcode, instruction.core, NameOf(instruction.engine), allowed);
  }
  const Validator validator(instruction, limits);
  validator.Described();
  std::visit(validator, instruction.body);
}

}  // namespace bwmm::isa
