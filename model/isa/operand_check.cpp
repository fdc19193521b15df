#include "model/isa/operand_check.h"

#include <fmt/format.h>

#include <cmath>

#include "model/isa/operand_use.h"
#include "model/isa/text.h"
#include "model/numerics/scale_group.h"
#include "model/support/sim_error.h"

namespace bwmm::isa {

void OperandCheck::Refuse(const std::string& why) const {
  throw SimError("instruction {} ({}) on core {}: {}", instruction_.id, OpcodeOf(instruction_),
                 instruction_.core, why);
}

void OperandCheck::Require(bool holds, std::string_view rule, const Operand& operand) const {
  if (!holds)
    Refuse(fmt::format("{}; it is {}", rule, ToText(operand)));
}

void OperandCheck::Whole(const ScalarArg& scalar) const {
  const auto* value = std::get_if<float>(&scalar);
  if (value != nullptr && !(*value == std::trunc(*value) && std::fabs(*value) <= 0x1p31f))
    Refuse(fmt::format("constant {} of an int32 operation, allowed a whole int32", *value));
}

void OperandCheck::InEachPartition(const Operand& operand, std::string_view words,
                                   std::int64_t count, const Operand& src) const {
  Require(operand.free_size() == count && operand.partitions == src.partitions,
          fmt::format("dst must have {} in each of src's {} partitions", words, src.partitions),
          operand);
}

void OperandCheck::Ranked(const Operand& operand) const {
  Require(operand.rank >= 1, "a PE operand must have a free dimension", operand);
}

void OperandCheck::RequireMx(PeMode mode, bool has_scale) const {
  if (mode == PeMode::kMx && limits_.generation < 4)
    Refuse(fmt::format("MX matmul needs generation 4 (trn3), this machine is generation {}",
                       limits_.generation));
  if ((mode == PeMode::kMx) != has_scale)
    Refuse("MX operands have scales, others have none");
}

void OperandCheck::RequireWhole(PeMode mode, bool has_part) const {
  if (mode != PeMode::kOrdinary && has_part)
    Refuse(fmt::format("a part is of ordinary mode, not of {}", NameOf(mode)));
}

void OperandCheck::Place(const Operand& operand) const {
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

void OperandCheck::Fits(const Operand& operand) const {
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

void OperandCheck::Moved(const Operand& operand) const {
  Require(operand.memory != Memory::kPsum, "DMA reaches HBM and SBUF only", operand);
  if (operand.memory == Memory::kSbuf)
    Fits(operand);
}

void OperandCheck::Rows(const std::optional<VectorOffset>& rows, const Operand& table) const {
  if (!rows)
    return;
  Require(table.memory == Memory::kHbm, "a gathered or scattered table must be in HBM", table);
  Require(rows->index.memory == Memory::kSbuf && rows->index.dtype == DType::kInt32 &&
              rows->index.free_size() == 1 && rows->index.partitions >= table.partitions,
          fmt::format("an index must be int32 in SBUF, one for each of {} rows", table.partitions),
          rows->index);
  Fits(rows->index);
}

void OperandCheck::Offset(const std::optional<ScalarOffset>& offset, const Operand& table) const {
  if (!offset)
    return;
  Require(table.memory == Memory::kHbm, "an operand with an offset must be in HBM", table);
  Require(offset->index.memory == Memory::kSbuf && offset->index.dtype == DType::kInt32 &&
              offset->index.elements() == 1,
          "an offset must be one int32 in SBUF", offset->index);
  Fits(offset->index);
}

void OperandCheck::InPlace(isa::Place place, const Operand& operand) const {
  switch (place) {
    case isa::Place::kOwn:
      return;
    case isa::Place::kLocal:
      return Local(operand);
    case isa::Place::kMoved:
      return Moved(operand);
  }
}

void OperandCheck::OfShape(Shape shape, const Operand& operand, const Operand* dst) const {
  switch (shape) {
    case Shape::kAny:
      return;
    case Shape::kOfDst:
      return SameShape(operand, *dst);
    case Shape::kPerPartition:
      return PerPartition(operand, *dst);
  }
}

void OperandCheck::Local(const Operand& operand) const {
  Require(operand.memory != Memory::kHbm, "engines reach SBUF and PSUM, not HBM", operand);
  Require(!IsBytesOnly(operand.dtype), "x4 and carrier types have no element arithmetic", operand);
  Require(!(instruction_.engine == Engine::kGpSimd && operand.memory == Memory::kPsum),
          "GpSimd does not reach PSUM", operand);
  Place(operand);
}

void OperandCheck::SameShape(const Operand& source, const Operand& dst) const {
  Require(source.free_size() == dst.free_size() && source.partitions == dst.partitions,
          fmt::format("must have dst's {} x {} elements", dst.partitions, dst.free_size()), source);
}

void OperandCheck::PerPartition(const Operand& scalar, const Operand& dst) const {
  Require(
      scalar.free_size() == 1 && (scalar.partitions == dst.partitions || scalar.partitions == 1),
      fmt::format("a scalar must have one element in each of {} partitions, or one for all",
                  dst.partitions),
      scalar);
}

void OperandCheck::PeType(const Operand& operand, std::optional<PePart> part) const {
  const DType type = operand.dtype;
  const bool half = type == DType::kBf16 || type == DType::kFp16;
  const bool fp8 = type == DType::kFp8E5M2 ||
                   type == (limits_.generation >= 4 ? DType::kFp8E4M3Fn : DType::kFp8E4M3) ||
                   type == DType::kFp8E4M3;
  Require(half || fp8 || type == DType::kFp32,
          "PE operands are bfloat16, float16, float32 or fp8 (e4m3fn on generation 4 only)",
          operand);
  Require(part.has_value() == (type == DType::kFp32),
          "float32 is multiplied in parts, high or low, and no other type is", operand);
}

void OperandCheck::DoubleRow(const Operand& operand) const {
  if (limits_.generation < 3)
    Refuse(fmt::format("double_row needs generation 3 (trn2), this machine is generation {}",
                       limits_.generation));
  Require(operand.rank >= 2 && operand.dims[0].size == 2,
          "the outermost free dimension of a double_row operand must be 2", operand);
  PeType(operand, std::nullopt);
  Require(SizeOf(operand.dtype) == 1, "double_row operands must be fp8", operand);
}

void OperandCheck::Scale(const Operand& scale, const Operand& data) const {
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

void OperandCheck::PeScale(const Operand& scale, const Operand& data) const {
  Scale(scale, data);
  Require(scale.contiguous_run() == scale.free_size(), "a matmul's scale must be dense", scale);
}

}  // namespace bwmm::isa
