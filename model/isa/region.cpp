#include "model/isa/region.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "model/isa/pattern.h"

namespace bwmm::isa {
namespace {

using Repeat = Region::Repeat;

// Runs from some address on: a region, or what is left of it below its outer repeats.
struct Runs {
  std::span<const Repeat> repeats;
  std::int64_t run = 0;

  explicit Runs(const Region& region)
      : repeats(region.repeats),
        run(region.dense() ? static_cast<std::int64_t>(region.end - region.begin) : region.run) {}

  bool dense() const { return repeats.empty(); }
  std::int64_t stride() const { return dense() ? 0 : repeats.front().stride; }
  std::int64_t count() const { return repeats.front().count; }
  Runs inner() const {
    Runs runs = *this;
    runs.repeats = repeats.subspan(1);
    return runs;
  }
  // From the first byte to one past the last.
  std::int64_t span() const {
    std::int64_t bytes = run;
    for (const Repeat& repeat : repeats)
      bytes += (repeat.count - 1) * repeat.stride;
    return bytes;
  }
};

std::int64_t FloorDiv(std::int64_t value, std::int64_t by) {
  return value >= 0 ? value / by : -((by - 1 - value) / by);
}

// `a` begins `ahead` bytes behind `b`.
bool Share(const Runs& a, const Runs& b, std::int64_t ahead) {
  const std::int64_t a_span = a.span(), b_span = b.span();
  if (ahead >= b_span || ahead + a_span <= 0)
    return false;
  if (a.dense() && b.dense())
    return true;
  if (a.stride() < b.stride())
    return Share(b, a, -ahead);
  // The blocks of `a` that meet the box of what they are compared with: all of `b`, or, when both
  // repeat alike, one block of it, because only the distance of two blocks matters.
  const std::int64_t stride = a.stride();
  const Runs block = a.inner();
  const bool alike = b.stride() == stride;
  const Runs other = alike ? b.inner() : b;
  const std::int64_t least = alike ? 1 - b.count() : 0;
  const std::int64_t first = std::max(least, FloorDiv(-ahead - block.span(), stride) + 1);
  const std::int64_t last = std::min(a.count() - 1, FloorDiv(other.span() - 1 - ahead, stride));
  for (std::int64_t i = first; i <= last; ++i) {
    if (Share(block, other, ahead + i * stride))
      return true;
  }
  return false;
}

}  // namespace

Region RegionOf(const Operand& operand) {
  Region region{.memory = operand.memory, .begin = operand.offset};
  region.run = SizeOf(operand.dtype);
  std::array<Repeat, Operand::kMaxRank + 1> dims{};
  int rank = 0;
  // By stride, the narrowest first.
  const auto add = [&](std::int64_t count, std::int64_t stride) {
    if (count == 1)
      return;
    int at = rank++;
    for (; at > 0 && dims[at - 1].stride > stride * SizeOf(operand.dtype); --at)
      dims[at] = dims[at - 1];
    dims[at] = {count, stride * SizeOf(operand.dtype)};
  };
  if (operand.memory == Memory::kHbm) {
    add(operand.partitions, operand.partition_stride);
  } else {
    region.partition = operand.partition;
    region.partition_end = operand.partition + static_cast<int>(operand.partitions);
  }
  for (const Dim& dim : FreeDims(operand))
    add(dim.size, dim.stride);
  // What leaves no gap joins the run (the same bytes again, too), what goes on in
  // the same stride its neighbour.
  for (const Repeat& dim : std::span(dims).first(rank)) {
    Repeat* inner = region.dense() ? nullptr : &region.repeats.back();
    if (inner == nullptr && dim.stride <= region.run)
      region.run += (dim.count - 1) * dim.stride;
    else if (inner != nullptr && dim.stride % inner->stride == 0 &&
             dim.stride <= inner->count * inner->stride)
      inner->count += (dim.count - 1) * (dim.stride / inner->stride);
    else
      region.repeats.push_back(dim);
  }
  std::reverse(region.repeats.begin(), region.repeats.end());
  region.end = region.begin + region.run;
  for (const Repeat& repeat : region.repeats)
    region.end += (repeat.count - 1) * repeat.stride;
  if (region.dense())
    region.run = 0;
  return region;
}

bool ShareBytes(const Region& a, const Region& b) {
  if (a.begin >= b.end || b.begin >= a.end)
    return false;
  return (a.dense() && b.dense()) ||
         Share(Runs(a), Runs(b), static_cast<std::int64_t>(a.begin - b.begin));
}

bool Covers(const Region& a, const Region& b) {
  if (a.begin > b.begin || a.end < b.end)
    return false;
  if (a.dense())
    return true;
  return a.begin == b.begin && a.end == b.end && a.run == b.run && a.repeats == b.repeats;
}

}  // namespace bwmm::isa
