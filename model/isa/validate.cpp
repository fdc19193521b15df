#include "model/isa/validate.h"

#include <fmt/format.h>

#include <cmath>

#include "model/isa/operand_use.h"
#include "model/isa/text.h"
#include "model/numerics/scale_group.h"
#include "model/support/sim_error.h"

namespace bwmm::isa {
namespace {

// Moving rows per MultiplyMoving, by PSUM element size: all 8 banks on gen4, one bank before.
constexpr std::int64_t kMaxMovingGen4Fp32 = 4096;
constexpr std::int64_t kMaxMovingGen3 = 512;

class Validator {
 public:
  Validator(const Instruction& instruction, const Limits& limits)
      : instruction_(instruction), limits_(limits) {}

  // What the description says of each operand; the rules of single instructions are below.
  void Described() const {
    const Operand* dst = nullptr;
    ForEachOperand(instruction_.body, [&](const OperandUse& use) {
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
    Require(i.stationary.memory == Memory::kSbuf, "stationary must be in SBUF", i.stationary);
    Ranked(i.stationary);
    Place(i.stationary);
    Require(i.stationary.free_size() <= limits_.psum_partitions,
            fmt::format("stationary free size must be at most {}", limits_.psum_partitions),
            i.stationary);
    if (i.mode == PeMode::kMx) {
      Require(i.stationary.partitions % kQuadrantPartitions == 0,
              "MX partitions must be a multiple of 32", i.stationary);
      Require(i.stationary.free_size() % 2 == 0, "MX stationary free size must be even",
              i.stationary);
      Require(IsX4(i.stationary.dtype), "MX operands must be x4 types", i.stationary);
      PeScale(*i.scale, i.stationary);
    } else if (i.mode == PeMode::kOrdinary) {
      PeType(i.stationary);
    }
  }

  void operator()(const MultiplyMoving& i) const {
    RequireMx(i.mode, i.scale.has_value());
    Require(i.dst.memory == Memory::kPsum, "dst must be in PSUM", i.dst);
    Require(i.dst.partition == 0 && i.dst.contiguous_run() == i.dst.free_size(),
            "dst must be dense and start at partition 0", i.dst);
    const std::int64_t widest =
        limits_.generation >= 4 ? kMaxMovingGen4Fp32 * 4 / SizeOf(i.dst.dtype) : kMaxMovingGen3;
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
    Require(i.moving.free_size() == i.dst.free_size(),
            fmt::format("moving free size must equal dst's, {}", i.dst.free_size()), i.moving);
    Require(i.dst.dtype == DType::kFp32 || (i.dst.dtype == DType::kBf16 && limits_.generation >= 4),
            limits_.generation >= 4 ? "dst must be float32 or bfloat16" : "dst must be float32",
            i.dst);
    if (i.mode == PeMode::kMx) {
      Require(IsX4(i.moving.dtype), "MX operands must be x4 types", i.moving);
      PeScale(*i.scale, i.moving);
    } else {
      PeType(i.moving);
    }
  }

  void operator()(const QuantizeMx& i) const {
    if (limits_.generation < 4)
      Refuse(fmt::format("quantize_mx needs generation 4 (trn3), this machine is generation {}",
                         limits_.generation));
    Require(i.src.memory == Memory::kSbuf, "src must be in SBUF", i.src);
    Require(i.src.dtype == DType::kBf16 || i.src.dtype == DType::kFp16,
            "src must be bfloat16 or float16", i.src);
    Require(i.dst.dtype == DType::kFp8E4M3FnX4 || i.dst.dtype == DType::kFp8E5M2X4,
            "dst must be float8_e4m3fn_x4 or float8_e5m2_x4", i.dst);
    Require(i.dst.memory == Memory::kSbuf, "dst must be in SBUF", i.dst);
    Require(i.src.partitions % kQuadrantPartitions == 0, "partitions must be a multiple of 32",
            i.src);
    Require(i.src.free_size() == 4 * i.dst.free_size(), "src must have 4 elements per dst word",
            i.src);
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
    if (i.peer < 0 || i.peer >= limits_.cores || i.peer == instruction_.core)
      Refuse(fmt::format("peer {} must be another of the {} cores", i.peer, limits_.cores));
  }
  void operator()(const CoreBarrier& i) const {
    Require(i.data.memory == Memory::kHbm, "data must be a shared HBM tensor", i.data);
  }
  void operator()(const RegisterLoad& i) const {
    Require(i.src.elements() == 1 && i.src.dtype == DType::kInt32, "src must be one int32", i.src);
  }

  [[noreturn]] void Refuse(const std::string& why) const {
    throw SimError("instruction {} ({}) on core {}: {}", instruction_.id, OpcodeOf(instruction_),
                   instruction_.core, why);
  }
  void Require(bool holds, std::string_view rule, const Operand& operand) const {
    if (!holds)
      Refuse(fmt::format("{}; it is {}", rule, ToText(operand)));
  }

  // Integer arithmetic is exact, so its constants are whole numbers of int32.
  void Whole(const ScalarArg& scalar) const {
    const auto* value = std::get_if<float>(&scalar);
    if (value != nullptr && !(*value == std::trunc(*value) && std::fabs(*value) <= 0x1p31f))
      Refuse(fmt::format("constant {} of an int32 operation, allowed a whole int32", *value));
  }

  // `operand` has `count` elements, in words, in each of src's partitions.
  void InEachPartition(const Operand& operand, std::string_view words, std::int64_t count,
                       const Operand& src) const {
    Require(operand.free_size() == count && operand.partitions == src.partitions,
            fmt::format("dst must have {} in each of src's {} partitions", words, src.partitions),
            operand);
  }

 private:
  void Ranked(const Operand& operand) const {
    Require(operand.rank >= 1, "a PE operand must have a free dimension", operand);
  }

  void RequireMx(PeMode mode, bool has_scale) const {
    if (mode == PeMode::kMx && limits_.generation < 4)
      Refuse(fmt::format("MX matmul needs generation 4 (trn3), this machine is generation {}",
                         limits_.generation));
    if ((mode == PeMode::kMx) != has_scale)
      Refuse("MX operands have scales, others have none");
  }

  // Start partition rule of SBUF and PSUM accesses, and that the bytes exist.
  void Place(const Operand& operand) const {
    if (operand.memory == Memory::kHbm)
      return;
    const std::int64_t count = operand.partitions;
    const int start = operand.partition;
    const bool aligned = count > 64 ? start == 0 : count > 32 ? start % 64 == 0 : start % 32 == 0;
    Require(aligned,
            "start partition must be 0 (over 64 partitions), 0 or 64 (33 to 64) or a "
            "multiple of 32",
            operand);
    Fits(operand);
  }

  // The bytes of an SBUF or PSUM operand exist.
  void Fits(const Operand& operand) const {
    Require(operand.partitions >= 1 && operand.free_size() >= 1, "no dimension may be empty",
            operand);
    const int partitions =
        operand.memory == Memory::kSbuf ? limits_.partitions : limits_.psum_partitions;
    Require(operand.partition >= 0 && operand.partition + operand.partitions <= partitions,
            fmt::format("partitions must end at most at {}", partitions), operand);
    const std::int64_t bytes = operand.memory == Memory::kSbuf
                                   ? limits_.sbuf_bytes
                                   : limits_.psum_banks * limits_.psum_bank_bytes;
    Require(static_cast<std::int64_t>(operand.offset) + operand.span_bytes() <= bytes,
            fmt::format("must end at most at byte {} of its partition", bytes), operand);
  }

  // An operand of a DMA, which has no start partition rule.
  void Moved(const Operand& operand) const {
    Require(operand.memory != Memory::kPsum, "DMA reaches HBM and SBUF only", operand);
    if (operand.memory == Memory::kSbuf)
      Fits(operand);
  }

  void Rows(const std::optional<VectorOffset>& rows, const Operand& table) const {
    if (!rows)
      return;
    Require(table.memory == Memory::kHbm, "a gathered or scattered table must be in HBM", table);
    Require(
        rows->index.memory == Memory::kSbuf && rows->index.dtype == DType::kInt32 &&
            rows->index.free_size() == 1 && rows->index.partitions >= table.partitions,
        fmt::format("an index must be int32 in SBUF, one for each of {} rows", table.partitions),
        rows->index);
    Fits(rows->index);
  }

  void Offset(const std::optional<ScalarOffset>& offset, const Operand& table) const {
    if (!offset)
      return;
    Require(table.memory == Memory::kHbm, "an operand with an offset must be in HBM", table);
    Require(offset->index.memory == Memory::kSbuf && offset->index.dtype == DType::kInt32 &&
                offset->index.elements() == 1,
            "an offset must be one int32 in SBUF", offset->index);
    Fits(offset->index);
  }

  void InPlace(isa::Place place, const Operand& operand) const {
    switch (place) {
      case isa::Place::kOwn:
        return;
      case isa::Place::kLocal:
        return Local(operand);
      case isa::Place::kMoved:
        return Moved(operand);
    }
  }
  void OfShape(Shape shape, const Operand& operand, const Operand* dst) const {
    switch (shape) {
      case Shape::kAny:
        return;
      case Shape::kOfDst:
        return SameShape(operand, *dst);
      case Shape::kPerPartition:
        return PerPartition(operand, *dst);
    }
  }

  void Local(const Operand& operand) const {
    Require(operand.memory != Memory::kHbm, "engines reach SBUF and PSUM, not HBM", operand);
    Require(!IsBytesOnly(operand.dtype), "x4 and carrier types have no element arithmetic",
            operand);
    Require(!(instruction_.engine == Engine::kGpSimd && operand.memory == Memory::kPsum),
            "GpSimd does not reach PSUM", operand);
    Place(operand);
  }

  void SameShape(const Operand& source, const Operand& dst) const {
    Require(source.free_size() == dst.free_size() && source.partitions == dst.partitions,
            fmt::format("must have dst's {} x {} elements", dst.partitions, dst.free_size()),
            source);
  }

  // A scalar operand: one value per partition, or one for all.
  void PerPartition(const Operand& scalar, const Operand& dst) const {
    Require(
        scalar.free_size() == 1 && (scalar.partitions == dst.partitions || scalar.partitions == 1),
        fmt::format("a scalar must have one element in each of {} partitions, or one for all",
                    dst.partitions),
        scalar);
  }
  void PeType(const Operand& operand) const {
    const DType type = operand.dtype;
    const bool half = type == DType::kBf16 || type == DType::kFp16;
    const bool fp8 = type == DType::kFp8E5M2 ||
                     type == (limits_.generation >= 4 ? DType::kFp8E4M3Fn : DType::kFp8E4M3) ||
                     type == DType::kFp8E4M3;
    Require(half || fp8, "PE operands are bfloat16, float16 or fp8 (e4m3fn on generation 4 only)",
            operand);
  }

  // The scale of x4 words `data`: quadrant layout, one byte per word of a row.
  void Scale(const Operand& scale, const Operand& data) const {
    Require(scale.memory == Memory::kSbuf, "a scale must be in SBUF", scale);
    const ScaleGroup* group = FindScaleGroup(data.dtype, scale.dtype);
    Require(group == nullptr || group == &kMxGroup,
            fmt::format("the scale groups of the PE array and of quantize_mx are {}, not {}",
                        kMxGroup.name, group == nullptr ? "" : group->name),
            scale);
    Require(scale.dtype == DType::kE8M0 || scale.dtype == DType::kUint8,
            "a scale must be float8_e8m0fnu or uint8", scale);
    Require(kMxGroup.MayStartAt(scale.partition),
            "a scale must start at partition 0, 4, 8 or 12 of its quadrant", scale);
    Require(scale.free_size() == data.free_size(),
            fmt::format("a scale must have {} elements per row", data.free_size()), scale);
    int wanted = 0, given = 0;
    kMxGroup.ForEachScaleRun(data.partitions, [&](const ScaleRun&) { ++wanted; });
    Operand last = scale;
    ForEachScaleQuadrant(scale, [&](const Operand& rows) {
      ++given;
      last = rows;
    });
    Require(given == wanted, fmt::format("a scale must reach over {} partitions", data.partitions),
            scale);
    Fits(last);
  }

  void PeScale(const Operand& scale, const Operand& data) const {
    Scale(scale, data);
    Require(scale.contiguous_run() == scale.free_size(), "a matmul's scale must be dense", scale);
  }

  const Instruction& instruction_;
  const Limits& limits_;
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
