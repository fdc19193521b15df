// The order of the records: by end, and of one end by core, then by id.
#include "model/system/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ops/element_memory.h"

namespace bwmm {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Records, ThoseOfOneEndAreInOrderOfCoreThenId) {
  test::ElementMemory memory(1);
  Records records;
  records.Began({.cores = 2, .clock = {}});
  const auto complete = [&](int core, std::uint32_t id, ops::Ticks at) {
    const isa::Instruction instruction{
        .id = id, .core = core, .engine = isa::Engine::kVector, .body = isa::Memset{}};
    records.Completed({.instruction = instruction,
                       .unit = isa::Unit::kVector,
                       .at = at,
                       .memory = ops::MemoryView(memory.core())});
  };
  complete(1, 3, 50);
  complete(0, 9, 50);
  complete(0, 7, 50);
  complete(1, 1, 40);
  std::vector<std::pair<int, std::uint32_t>> order;
  for (const InstructionRecord& record : records.Sorted())
    order.push_back({record.core, record.id});
  EXPECT_THAT(order, ElementsAre(Pair(1, 1), Pair(0, 7), Pair(0, 9), Pair(1, 3)));
}

}  // namespace
}  // namespace bwmm
