#include "model/isa/hazard_tracker.h"

#include <algorithm>

#include "model/support/check.h"

namespace bwmm::isa {

HazardTracker::Order HazardTracker::OrderOf(Unit unit, bool tensor_load) {
  switch (unit) {
    case Unit::kTensor:
      return tensor_load ? Order::kTensorLoad : Order::kTensorMove;
    case Unit::kVector:
      return Order::kVector;
    case Unit::kScalar:
      return Order::kScalar;
    case Unit::kGpSimd:
      return Order::kGpSimd;
    case Unit::kSync:
      return Order::kSync;
    case Unit::kDma:
      break;
  }
  return Order::kNone;
}

void HazardTracker::Add(std::uint32_t id, Unit unit, bool tensor_load,
                        const std::vector<Access>& accesses, Gate data_gate,
                        std::vector<Dependency>& dependencies) {
  found_ = &dependencies;
  first_found_ = dependencies.size();
  const Who who{id, OrderOf(unit, tensor_load)};
  // Reads first, so that an instruction's own write does not hide what its reads depend on.
  for (const bool write : {false, true}) {
    for (const Access& access : accesses) {
      if (access.write == write && access.region.begin < access.region.end)
        Visit(access, who, access.index ? Gate::kStart : data_gate);
    }
  }
}

void HazardTracker::Visit(const Access& access, const Who& who, Gate gate) {
  const Region& region = access.region;
  const bool write = access.write;
  Check(region.partition >= 0 && region.partition_end <= kQuadrants * kQuadrantRows,
        "a region lies within the partitions");
  Space& space = spaces_[static_cast<int>(region.memory)];
  GapRecord whole{who, {}};
  whole.partitions =
      (~Partitions() >> (kQuadrants * kQuadrantRows - (region.partition_end - region.partition)))
      << region.partition;
  CompareGaps(space.writers, region, whole, write,
              write ? Hazard::kWriteAfterWrite : Hazard::kReadAfterWrite, gate);
  if (write)
    CompareGaps(space.readers, region, whole, write, Hazard::kWriteAfterRead, gate);
  for (int q = region.partition / kQuadrantRows; q * kQuadrantRows < region.partition_end; ++q) {
    const int low = std::max(region.partition - q * kQuadrantRows, 0);
    const int high = std::min(region.partition_end - q * kQuadrantRows, kQuadrantRows);
    const std::uint64_t mask = ((std::uint64_t{1} << high) - 1) & ~((std::uint64_t{1} << low) - 1);
    const Record record{who, static_cast<std::uint32_t>(mask)};
    if (region.dense())
      VisitDense(space.dense[q], region.begin, region.end, record, write, gate);
    else
      CompareDense(space.dense[q], region, record, write, gate);
  }
  if (region.dense())
    return;
  if (!write) {
    space.readers.VisitSame(region, [&](const GapRecord& old) {
      const bool replaced = old.order == who.order && who.order != Order::kNone &&
                            (old.partitions & ~whole.partitions).none();
      return old.id >= oldest_ && !replaced;
    });
  }
  (write ? space.writers : space.readers).Insert(region, whole);
}

HazardTracker::Intervals::iterator HazardTracker::Cut(Intervals& intervals, std::uint64_t begin,
                                                      std::uint64_t end) {
  const auto split = [&](std::uint64_t at) {
    auto next = intervals.lower_bound(at);
    if (next != intervals.begin()) {
      auto before = std::prev(next);
      if (before->second.end > at) {
        Interval upper = before->second;
        before->second.end = at;
        next = intervals.emplace_hint(next, at, std::move(upper));
      }
    }
    return next;
  };
  split(end);
  auto first = split(begin);
  // Fill the gaps.
  std::uint64_t at = begin;
  for (auto i = first; at < end;) {
    if (i == intervals.end() || i->first > at) {
      const std::uint64_t gap_end = i == intervals.end() ? end : std::min(end, i->first);
      i = intervals.emplace_hint(i, at, Interval{.end = gap_end, .writers = {}, .readers = {}});
      if (at == begin)
        first = i;
    }
    at = i->second.end;
    ++i;
  }
  return first;
}

void HazardTracker::CompareGaps(RegionIndex<GapRecord>& index, const Region& region,
                                const GapRecord& record, bool write, Hazard hazard, Gate gate) {
  index.Visit(region.begin, region.end, [&](const Region& other, GapRecord& old) {
    if (old.id < oldest_)
      return false;
    if ((old.partitions & record.partitions).none() || !ShareBytes(region, other))
      return true;
    Depend(old, record, hazard, gate);
    if (write && Covers(region, other))
      old.partitions &= ~record.partitions;
    return old.partitions.any();
  });
}

void HazardTracker::CompareDense(Intervals& intervals, const Region& region, const Record& record,
                                 bool write, Gate gate) {
  auto i = intervals.upper_bound(region.begin);
  if (i != intervals.begin())
    --i;
  for (; i != intervals.end() && i->first < region.end; ++i) {
    Interval& interval = i->second;
    Drop(interval.writers);
    Drop(interval.readers);
    const Region whole{.begin = i->first, .end = interval.end};
    if ((interval.writers.empty() && (!write || interval.readers.empty())) ||
        !ShareBytes(region, whole))
      continue;
    for (const Record& old : interval.writers) {
      if (old.partitions & record.partitions)
        Depend(old, record, write ? Hazard::kWriteAfterWrite : Hazard::kReadAfterWrite, gate);
    }
    if (!write)
      continue;
    for (const Record& old : interval.readers) {
      if (old.partitions & record.partitions)
        Depend(old, record, Hazard::kWriteAfterRead, gate);
    }
  }
}

void HazardTracker::VisitDense(Intervals& intervals, std::uint64_t begin, std::uint64_t end,
                               const Record& record, bool write, Gate gate) {
  auto i = Cut(intervals, begin, end);
  if (!write) {
    for (; i != intervals.end() && i->first < end; ++i)
      Read(i->second, record, gate);
    return;
  }
  // Intervals in which nothing but this write is left become one.
  auto merged = intervals.end();
  while (i != intervals.end() && i->first < end) {
    Write(i->second, record, gate);
    const bool alone = i->second.writers.size() == 1 && i->second.readers.empty();
    if (alone && merged != intervals.end()) {
      merged->second.end = i->second.end;
      i = intervals.erase(i);
    } else {
      merged = alone ? i : intervals.end();
      ++i;
    }
  }
}

void HazardTracker::Read(Interval& interval, const Record& record, Gate gate) {
  Drop(interval.writers);
  for (const Record& writer : interval.writers) {
    if (writer.partitions & record.partitions)
      Depend(writer, record, Hazard::kReadAfterWrite, gate);
  }
  if (record.order != Order::kNone) {
    for (Record& reader : interval.readers) {
      if (reader.order == record.order && (reader.partitions & ~record.partitions) == 0) {
        reader = record;
        return;
      }
    }
  }
  if (interval.readers.size() == interval.readers.capacity())
    Drop(interval.readers);
  interval.readers.push_back(record);
}

void HazardTracker::Write(Interval& interval, const Record& record, Gate gate) {
  Drop(interval.writers);
  Drop(interval.readers);
  for (auto* records : {&interval.writers, &interval.readers}) {
    const Hazard hazard =
        records == &interval.readers ? Hazard::kWriteAfterRead : Hazard::kWriteAfterWrite;
    for (Record& old : *records) {
      if (old.partitions & record.partitions) {
        Depend(old, record, hazard, gate);
        old.partitions &= ~record.partitions;
      }
    }
    std::erase_if(*records, [](const Record& old) { return old.partitions == 0; });
  }
  interval.writers.push_back(record);
}

void HazardTracker::Depend(const Who& on, const Who& by, Hazard hazard, Gate gate) {
  if (on.id == by.id)
    return;
  const bool same_stream = on.order == by.order && on.order != Order::kNone;
  if (same_stream && (hazard != Hazard::kReadAfterWrite || on.order == Order::kTensorMove))
    return;
  const bool until_read = hazard == Hazard::kWriteAfterRead;
  for (std::size_t i = first_found_; i < found_->size(); ++i) {
    Dependency& known = (*found_)[i];
    if (known.id == on.id && known.gate == gate) {
      if (known.until_read && !until_read)
        known = {on.id, false, gate, hazard};
      return;
    }
  }
  found_->push_back({on.id, until_read, gate, hazard});
}

void HazardTracker::Drop(std::vector<Record>& records) const {
  std::erase_if(records, [&](const Record& record) { return record.id < oldest_; });
}

}  // namespace bwmm::isa
