// The allocator against a byte map: first fit at 64-byte granules, the bank rule, exhaustion.
#include "kernels/lang/allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <vector>

#include "model/support/check.h"
#include "model/support/sim_error.h"

namespace bwmm::lang {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

constexpr std::uint32_t kSeed = 20260101;
constexpr std::int64_t kGranule = 64;

// One flag per granule; tries every start in turn.
class ByteMap {
 public:
  ByteMap(std::int64_t bytes, std::int64_t bank)
      : used_(bytes / kGranule), bank_(bank / kGranule) {}

  std::optional<std::int64_t> Allocate(std::int64_t bytes) {
    const std::int64_t size = (bytes + kGranule - 1) / kGranule;
    for (std::int64_t start = 0; start + size <= std::ssize(used_); ++start) {
      if (BreaksBankRule(start, size) || !IsFree(start, size))
        continue;
      Set(start, size, true);
      return start * kGranule;
    }
    return std::nullopt;
  }
  void Free(std::int64_t offset, std::int64_t bytes) {
    Set(offset / kGranule, (bytes + kGranule - 1) / kGranule, false);
  }

 private:
  bool BreaksBankRule(std::int64_t start, std::int64_t size) const {
    if (bank_ == 0)
      return false;
    if (size > bank_)
      return start % bank_ != 0;
    return start / bank_ != (start + size - 1) / bank_;
  }
  bool IsFree(std::int64_t start, std::int64_t size) const {
    for (std::int64_t i = start; i < start + size; ++i) {
      if (used_[i])
        return false;
    }
    return true;
  }
  void Set(std::int64_t start, std::int64_t size, bool used) {
    std::fill_n(used_.begin() + start, size, used);
  }

  std::vector<bool> used_;
  std::int64_t bank_;
};

void CompareWithByteMap(std::int64_t bytes, std::int64_t bank) {
  std::mt19937 random(kSeed);
  Allocator allocator("mem", bytes, bank);
  ByteMap map(bytes, bank);
  std::vector<std::pair<std::int64_t, std::int64_t>> live;  // offset, bytes
  int full = 0, allocated = 0;
  for (int i = 0; i < 20000; ++i) {
    if (!live.empty() && random() % 5 < 2) {
      const auto it = live.begin() + random() % live.size();
      allocator.Free(it->first);
      map.Free(it->first, it->second);
      live.erase(it);
      continue;
    }
    const std::int64_t size = 1 + random() % (bytes / 6);
    const auto expected = map.Allocate(size);
    if (!expected) {
      ++full;
      EXPECT_THROW(allocator.Allocate("x", size), SimError) << "step " << i << " seed " << kSeed;
      continue;
    }
    ++allocated;
    ASSERT_EQ(allocator.Allocate("x", size).offset, static_cast<std::uint64_t>(*expected))
        << size << " bytes, step " << i << " seed " << kSeed;
    live.emplace_back(*expected, size);
  }
  EXPECT_GT(full, 100);
  EXPECT_GT(allocated, 1000);
}

TEST(Allocator, TakesTheLowestFreeRange) {
  CompareWithByteMap(16 * 1024, 0);
}

TEST(Allocator, KeepsABufferInsideItsBankOrStartsItAtOne) {
  CompareWithByteMap(16 * 1024, 2048);
}

TEST(Allocator, RejectsABufferThatDoesNotFitAndListsTheLiveOnesOnOneLine) {
  Allocator allocator("sbuf", 1024, 0);
  allocator.Allocate("weights", 640);
  allocator.Allocate("hidden", 100);
  EXPECT_THAT([&] { allocator.Allocate("extra", 300); },
              ThrowsMessage<SimError>(AllOf(
                  HasSubstr("sbuf: buffer extra of 300 bytes"), HasSubstr("256 of 1024 are free"),
                  HasSubstr("weights 640, hidden 128"), Not(HasSubstr("\n")))));
  EXPECT_EQ(allocator.free_bytes(), 256);
}

TEST(Allocator, RejectsFreeingTwice) {
  Allocator allocator("sbuf", 1024, 0);
  const std::uint64_t offset = allocator.Allocate("a", 64).offset;
  allocator.Free(offset);
  EXPECT_THROW(allocator.Free(offset), CheckFailure);
  EXPECT_EQ(allocator.free_bytes(), 1024);
}

}  // namespace
}  // namespace bwmm::lang
