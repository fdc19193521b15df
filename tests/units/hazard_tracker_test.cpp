// The hazard tracker against a brute-force oracle that keeps every byte's history; every other
// access has gaps.
//
// Two claims are checked on random streams: every pair of conflicting accesses is ordered (a chain
// of dependencies and in-order units leads from one to the other), and every dependency has a
// conflict of at least one byte behind it.
#include "model/isa/hazard_tracker.h"

#include <gtest/gtest.h>

#include <array>
#include <bitset>
#include <random>

#include "tests/isa/region_bytes.h"

namespace bwmm::isa {
namespace {

constexpr int kInstructions = 120;
constexpr int kBytes = 48;        // per partition, in the test's small address range
constexpr int kPartitions = 128;  // all quadrants

struct Step {
  Unit unit = Unit::kDma;
  bool tensor_load = false;
  std::vector<isa::Access> accesses;
  std::vector<Dependency> dependencies;
};

using Cells = std::bitset<3 * kPartitions * kBytes>;  // memory, partition and byte

Cells CellsOf(const Step& step, bool write) {
  Cells cells;
  for (const isa::Access& access : step.accesses) {
    if (access.write != write)
      continue;
    const isa::Region& r = access.region;
    for (int p = r.partition; p < r.partition_end; ++p) {
      for (const std::int64_t b : test::BytesOf(r))
        cells.set((static_cast<int>(r.memory) * kPartitions + p) * kBytes + static_cast<int>(b));
    }
  }
  return cells;
}

bool Meet(const Cells& a, const Cells& b) {
  return (a & b).any();
}

isa::Access RandomAccess(std::mt19937& random, isa::Memory memory, bool write) {
  isa::Region region{.memory = memory};
  if (memory != isa::Memory::kHbm) {
    constexpr int kSizes[] = {1, 4, 16, 32, 64, 128};
    const int size = kSizes[random() % 6];
    region.partition = static_cast<int>(random() % (kPartitions / size)) * size;
    region.partition_end = region.partition + size;
  }
  // Every other one has gaps: up to three pairs of runs of 1 or 2 bytes.
  if (random() % 2 == 0) {
    const auto pick = [&](int low, int high) {
      return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    region.begin = pick(0, 15);
    region.run = pick(1, 2);
    region.repeats = {{.count = pick(1, 3), .stride = pick(8, 10)},
                      {.count = 2, .stride = pick(3, 4)}};
    region.end = region.begin + region.run + region.repeats[1].stride +
                 (region.repeats[0].count - 1) * region.repeats[0].stride;
    return {.region = region, .write = write};
  }
  region.begin = random() % kBytes;
  region.end = region.begin + 1 + random() % std::min<std::uint64_t>(kBytes - region.begin, 12);
  return {.region = region, .write = write};
}

// Instructions as the engines really access memory: the TensorEngine reads SBUF and writes PSUM.
Step RandomStep(std::mt19937& random) {
  Step step;
  step.unit = static_cast<Unit>(random() % kUnits);
  if (step.unit == Unit::kTensor) {
    step.tensor_load = random() % 2 == 0;
    step.accesses.push_back(RandomAccess(random, isa::Memory::kSbuf, false));
    if (!step.tensor_load) {
      isa::Access dst = RandomAccess(random, isa::Memory::kPsum, true);
      step.accesses.push_back(dst);
      if (random() % 2 == 0) {
        dst.write = false;
        step.accesses.push_back(dst);
      }
    }
    return step;
  }
  const bool dma = step.unit == Unit::kDma;
  const auto memory = [&] {
    return random() % 2 ? isa::Memory::kSbuf : dma ? isa::Memory::kHbm : isa::Memory::kPsum;
  };
  for (unsigned i = 0; i < 1 + random() % 2; ++i)
    step.accesses.push_back(RandomAccess(random, memory(), false));
  step.accesses.push_back(RandomAccess(random, memory(), true));
  return step;
}

bool SameStream(const Step& a, const Step& b) {
  return a.unit == b.unit && a.unit != Unit::kDma && a.tensor_load == b.tensor_load;
}

class Order {
 public:
  explicit Order(const std::vector<Step>& steps) : steps_(steps) {
    for (std::size_t j = 0; j < steps.size(); ++j) {
      for (const Dependency& dependency : steps[j].dependencies) {
        const std::uint32_t k = dependency.id;
        // What is over before k starts is over before j starts; k itself is when j waits for its
        // completion, and so is everything that completes before k.
        before_start_[j] |= before_start_[k];
        if (!dependency.until_read) {
          before_start_[j] |= before_end_[k];
          before_start_[j].set(k);
        } else {
          read_before_[j].set(k);
          for (std::size_t i = 0; i < k; ++i) {
            if (SameStream(steps[i], steps[k]))
              read_before_[j].set(i);
          }
        }
      }
      // An in-order unit starts its instructions one after the other.
      for (std::size_t i = 0; i < j; ++i) {
        if (steps[i].unit == steps[j].unit && steps[j].unit != Unit::kDma)
          before_start_[j] |= before_start_[i];
      }
      before_end_[j] = before_start_[j];
      for (std::size_t i = 0; i < j; ++i) {
        if (SameStream(steps[i], steps[j])) {
          before_end_[j] |= before_end_[i];
          before_end_[j].set(i);
        }
      }
    }
  }

  bool EndsBeforeStart(int i, int j) const { return before_start_[j].test(i); }
  bool ReadsBeforeWrites(int i, int j) const {
    if (before_end_[j].test(i) || read_before_[j].test(i))
      return true;
    for (int k = 0; k < j; ++k) {  // through a later instruction that waited for the read
      if (before_end_[j].test(k) && read_before_[k].test(i))
        return true;
    }
    return false;
  }
  bool WritesInOrder(int i, int j) const { return before_end_[j].test(i); }

 private:
  using Set = std::bitset<kInstructions>;
  const std::vector<Step>& steps_;
  std::array<Set, kInstructions> before_start_;
  std::array<Set, kInstructions> before_end_;
  std::array<Set, kInstructions> read_before_;
};

std::vector<Step> RandomStream(unsigned seed) {
  std::mt19937 random(seed);
  HazardTracker tracker;
  std::vector<Step> steps;
  for (std::uint32_t id = 0; id < kInstructions; ++id) {
    Step step = RandomStep(random);
    tracker.Add(id, step.unit, step.tensor_load, step.accesses, Gate::kStart, step.dependencies);
    steps.push_back(std::move(step));
  }
  return steps;
}

TEST(HazardTracker, OrdersEveryConflict) {
  int conflicts = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const std::vector<Step> steps = RandomStream(seed);
    const Order order(steps);
    std::vector<Cells> all_reads, all_writes;
    for (const Step& step : steps) {
      all_reads.push_back(CellsOf(step, false));
      all_writes.push_back(CellsOf(step, true));
    }
    for (int j = 0; j < kInstructions; ++j) {
      const Cells &reads = all_reads[j], &writes = all_writes[j];
      for (int i = 0; i < j; ++i) {
        const Cells &old_reads = all_reads[i], &old_writes = all_writes[i];
        const bool in_array = steps[i].unit == Unit::kTensor && steps[j].unit == Unit::kTensor;
        if (Meet(old_writes, reads) && !in_array) {
          ++conflicts;
          EXPECT_TRUE(order.EndsBeforeStart(i, j)) << "seed " << seed << " " << i << " " << j;
        }
        if (Meet(old_reads, writes)) {
          ++conflicts;
          EXPECT_TRUE(order.ReadsBeforeWrites(i, j)) << "seed " << seed << " " << i << " " << j;
        }
        if (Meet(old_writes, writes)) {
          ++conflicts;
          EXPECT_TRUE(order.WritesInOrder(i, j)) << "seed " << seed << " " << i << " " << j;
        }
      }
    }
  }
  EXPECT_GT(conflicts, 1000);
}

TEST(HazardTracker, HasAByteBehindEveryDependency) {
  int dependencies = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const std::vector<Step> steps = RandomStream(seed);
    std::vector<Cells> reads, writes;
    for (std::size_t j = 0; j < steps.size(); ++j) {
      reads.push_back(CellsOf(steps[j], false));
      writes.push_back(CellsOf(steps[j], true));
      for (const Dependency& dependency : steps[j].dependencies) {
        const std::uint32_t i = dependency.id;
        ++dependencies;
        if (dependency.until_read) {
          EXPECT_TRUE(Meet(reads[i], writes[j])) << "seed " << seed;
        } else {
          EXPECT_TRUE(Meet(writes[i], reads[j]) || Meet(writes[i], writes[j])) << "seed " << seed;
        }
      }
    }
  }
  EXPECT_GT(dependencies, 1000);
}

isa::Access Sbuf(std::uint64_t begin, std::uint64_t end, bool write, int partitions = 128) {
  return {.region = {.memory = isa::Memory::kSbuf,
                     .partition = 0,
                     .partition_end = partitions,
                     .begin = begin,
                     .end = end},
          .write = write};
}

TEST(HazardTracker, LetsAWriterWaitForTheArraysReadsOnly) {
  HazardTracker tracker;
  std::vector<Dependency> found;
  tracker.Add(0, Unit::kTensor, true, {Sbuf(0, 64, false)}, Gate::kStart, found);
  tracker.Add(1, Unit::kVector, false, {Sbuf(0, 64, true)}, Gate::kStart, found);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, 0u);
  EXPECT_TRUE(found[0].until_read);
}

// Instruction 0 reads one place and writes another; 1 writes both, 2 reads what 1 wrote.
TEST(HazardTracker, NamesTheHazardThatAsksForCompletion) {
  for (const bool write_first : {false, true}) {
    HazardTracker tracker;
    std::vector<Dependency> found;
    std::vector<isa::Access> both = {Sbuf(0, 64, true), Sbuf(64, 128, true)};
    if (write_first)
      std::swap(both[0], both[1]);
    tracker.Add(0, Unit::kDma, false, {Sbuf(0, 64, false), Sbuf(64, 128, true)}, Gate::kStart,
                found);
    tracker.Add(1, Unit::kVector, false, both, Gate::kStart, found);
    tracker.Add(2, Unit::kDma, false, {Sbuf(0, 64, false)}, Gate::kStart, found);
    tracker.Add(3, Unit::kVector, false, {Sbuf(0, 64, true)}, Gate::kStart, found);
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0].hazard, Hazard::kWriteAfterWrite);
    EXPECT_FALSE(found[0].until_read);
    EXPECT_EQ(found[1].hazard, Hazard::kReadAfterWrite);
    EXPECT_EQ(found[2].hazard, Hazard::kWriteAfterRead);
    EXPECT_TRUE(found[2].until_read);
  }
}

TEST(HazardTracker, PutsIndicesAndDataOnDifferentGates) {
  HazardTracker tracker;
  std::vector<Dependency> found;
  tracker.Add(0, Unit::kGpSimd, false, {Sbuf(0, 4, true)}, Gate::kStart, found);
  tracker.Add(1, Unit::kVector, false, {Sbuf(64, 128, true)}, Gate::kStart, found);
  isa::Access index = Sbuf(0, 4, false);
  index.index = true;
  tracker.Add(2, Unit::kDma, false, {index, Sbuf(64, 128, true)}, Gate::kData, found);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].id, 0u);
  EXPECT_EQ(found[0].gate, Gate::kStart);
  EXPECT_EQ(found[1].id, 1u);
  EXPECT_EQ(found[1].gate, Gate::kData);
}

TEST(HazardTracker, ForgetsWhatIsOver) {
  HazardTracker tracker;
  std::vector<Dependency> found;
  tracker.Add(0, Unit::kDma, false, {Sbuf(0, 64, true)}, Gate::kStart, found);
  tracker.Forget(1);
  tracker.Add(1, Unit::kVector, false, {Sbuf(0, 64, false)}, Gate::kStart, found);
  EXPECT_TRUE(found.empty());
}

}  // namespace
}  // namespace bwmm::isa
