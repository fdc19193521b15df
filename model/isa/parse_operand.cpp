#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "model/isa/parse.h"

namespace bwmm::isa {
namespace {

// Size and stride of one dimension; `elements` is what the dimensions so far hold together.
Dim ParseDim(LineReader& r, bool& has_stride, std::int64_t& elements) {
  Dim dim;
  const std::size_t at = r.column();
  dim.size = r.Integer(0, kMaxElements);
  const std::int64_t factor = std::max<std::int64_t>(dim.size, 1);
  if (elements > kMaxElements / factor)
    r.FailAt(at, "at most 2^40 elements in all");
  elements *= factor;
  has_stride = r.Take(":");
  if (!has_stride)
    return dim;
  const std::size_t stride_at = r.column();
  dim.stride = r.Integer(-kMaxElements, kMaxElements);
  if (std::abs(dim.stride) > kMaxReach / factor)
    r.FailAt(stride_at, "size times stride of at most 2^50 elements");
  return dim;
}

}  // namespace

DType ParseDTypeName(LineReader& reader) {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(DType::kUint32); ++i)
      names.push_back(NameOf(static_cast<DType>(i)));
    return names;
  }();
  return static_cast<DType>(reader.OneOf(kNames));
}

Operand ParseOperand(LineReader& r) {
  constexpr std::array<std::string_view, 3> kMemories = {"hbm", "sbuf", "psum"};
  Operand operand;
  operand.memory = static_cast<Memory>(r.OneOf(kMemories));
  const bool hbm = operand.memory == Memory::kHbm;
  std::int64_t partition_end = 0;
  if (!hbm) {
    r.Expect("[");
    operand.partition = static_cast<int>(r.Integer(INT16_MIN, INT16_MAX));
    r.Expect(":");
    partition_end = r.Integer(operand.partition, INT16_MAX);
    r.Expect("]");
  }
  r.Expect("+");
  operand.offset = static_cast<std::uint64_t>(r.Integer(0, kMaxBytes));
  r.Expect(" ");
  operand.dtype = ParseDTypeName(r);
  r.Expect("[");
  std::int64_t elements = 1;
  const std::size_t rows_at = r.column();
  bool has_row_stride = false;
  const Dim rows = ParseDim(r, has_row_stride, elements);
  operand.partitions = rows.size;
  if (!hbm && has_row_stride)
    r.FailAt(rows_at, "partitions without a stride");
  if (!hbm && rows.size != partition_end - operand.partition)
    r.FailAt(rows_at,
             fmt::format("{}, the partitions in front", partition_end - operand.partition));
  std::array<bool, Operand::kMaxRank> has_stride{};
  while (r.Take(",")) {
    if (operand.rank == Operand::kMaxRank)
      r.Fail("at most 4 free dimensions");
    operand.dims[operand.rank] = ParseDim(r, has_stride[operand.rank], elements);
    ++operand.rank;
  }
  r.Expect("]");
  std::int64_t dense = 1;
  for (int i = operand.rank - 1; i >= 0; --i) {
    if (!has_stride[i])
      operand.dims[i].stride = dense;
    dense *= operand.dims[i].size;
  }
  if (!hbm)
    return operand;
  if (!has_row_stride && rows.size != 1)
    r.FailAt(rows_at, "rows:stride where there are several");
  operand.partition_stride = has_row_stride ? rows.stride : dense;
  return operand;
}

}  // namespace bwmm::isa
