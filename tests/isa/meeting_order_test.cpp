// Which meetings of two cores belong together, and what is refused, whichever core comes first.
#include "model/isa/meeting_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/support/sim_error.h"

namespace bwmm::isa {
namespace {

using ::testing::HasSubstr;

Operand Rows(std::uint64_t offset, std::int64_t rows) {
  return {.memory = Memory::kHbm, .partitions = rows, .partition_stride = 1, .offset = offset};
}
Body Barrier(std::uint64_t offset = 64, std::int64_t rows = 8) {
  return CoreBarrier{.data = Rows(offset, rows)};
}
Body Exchange(int pipe, std::int64_t partitions = 32, DType dtype = DType::kBf16) {
  return SendRecv{.dst = {.dtype = dtype, .partitions = partitions, .offset = 1024},
                  .src = {.dtype = dtype, .partitions = partitions},
                  .pipe_id = pipe};
}

// The refusal of two programs of meetings, fed core by core, or "".
std::string Refusal(const std::vector<Body>& core0, const std::vector<Body>& core1,
                    bool core1_first) {
  MeetingOrder order(2);
  try {
    for (const int turn : {0, 1}) {
      const int core = core1_first ? 1 - turn : turn;
      std::uint32_t id = 10 * static_cast<std::uint32_t>(core);
      for (const Body& body : core == 0 ? core0 : core1)
        order.Add({.id = id++, .core = core, .body = body});
    }
  } catch (const SimError& error) {
    return error.what();
  }
  return order.Alone().value_or("");
}

void ExpectRefused(const std::vector<Body>& core0, const std::vector<Body>& core1,
                   const std::string& words) {
  const std::string text = Refusal(core0, core1, false);
  EXPECT_THAT(text, HasSubstr(words));
  EXPECT_EQ(text, Refusal(core0, core1, true));
}

TEST(MeetingOrder, TheSameMeetingsInOneOrderPass) {
  const std::vector<Body> program = {Barrier(), Exchange(0), Exchange(3), Barrier(128),
                                     Exchange(0)};
  EXPECT_EQ(Refusal(program, program, false), "");
  EXPECT_EQ(Refusal(program, program, true), "");
}

TEST(MeetingOrder, OtherInstructionsDoNotCount) {
  MeetingOrder order(2);
  order.Add({.id = 0, .core = 0, .body = Memset{}});
  order.Add({.id = 1, .core = 0, .body = DmaCopy{}});
  EXPECT_EQ(order.Alone(), std::nullopt);
}

TEST(MeetingOrder, OneCoreMeetsNobody) {
  MeetingOrder order(1);
  order.Add({.id = 0, .core = 0, .body = Barrier()});
  EXPECT_EQ(order.Alone(), std::nullopt);
}

TEST(MeetingOrder, RejectsBarriersOnDifferentTensors) {
  ExpectRefused({Barrier(64)}, {Barrier(128)}, "core_barrier: core 0 instruction 0 names hbm+0x40");
  ExpectRefused({Barrier(64, 8)}, {Barrier(64, 4)}, "core 1 instruction 10 names hbm+0x40");
}

TEST(MeetingOrder, RejectsPipesInOppositeOrder) {
  ExpectRefused({Exchange(0), Exchange(1)}, {Exchange(1), Exchange(0)},
                "core 0 instruction 0 uses pipe 0, core 1 instruction 10 uses pipe 1");
}

TEST(MeetingOrder, RejectsOtherShapesAndTypes) {
  ExpectRefused({Exchange(0, 32)}, {Exchange(0, 64)},
                "sendrecv pipe 0: core 0 instruction 0 sends");
  ExpectRefused({Exchange(0)}, {Exchange(0, 32, DType::kFp16)}, "core 1 instruction 10 takes");
}

TEST(MeetingOrder, RejectsABarrierThatMeetsASendRecv) {
  ExpectRefused({Barrier()}, {Exchange(0)},
                "core 0 instruction 0 is a core_barrier, core 1 instruction 10 is a sendrecv");
}

TEST(MeetingOrder, NamesTheFirstThatStaysAlone) {
  ExpectRefused({Barrier(), Exchange(2), Barrier()}, {Barrier()},
                "core 0 instruction 1 (sendrecv) waits for core 1, which has ended");
  ExpectRefused({}, {Barrier()}, "core 1 instruction 10 (core_barrier) waits for core 0");
}

}  // namespace
}  // namespace bwmm::isa
