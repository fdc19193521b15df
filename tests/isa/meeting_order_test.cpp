// Which meetings of cores belong together, and what is refused, whichever core comes first.
#include "model/isa/meeting_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

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
// With the other of two cores.
constexpr int kOther = -1;
Body Exchange(int pipe, std::int64_t partitions = 32, DType dtype = DType::kBf16,
              int peer = kOther) {
  return SendRecv{.dst = {.dtype = dtype, .partitions = partitions, .offset = 1024},
                  .src = {.dtype = dtype, .partitions = partitions},
                  .peer = peer,
                  .pipe_id = pipe};
}
Body With(int peer, int pipe = 0) {
  return Exchange(pipe, 32, DType::kBf16, peer);
}

using Programs = std::vector<std::vector<Body>>;

// The refusal of programs of meetings, fed core by core in this order, or "". Core c's ids count
// from 10 c on.
std::string Refusal(const Programs& programs, const std::vector<int>& order_of_cores) {
  MeetingOrder order(static_cast<int>(programs.size()));
  try {
    for (const int core : order_of_cores) {
      std::uint32_t id = 10 * static_cast<std::uint32_t>(core);
      for (Body body : programs[core]) {
        if (auto* exchange = std::get_if<SendRecv>(&body); exchange && exchange->peer == kOther)
          exchange->peer = 1 - core;
        order.Add({.id = id++, .core = core, .body = body});
      }
    }
  } catch (const SimError& error) {
    return error.what();
  }
  return order.Alone().value_or("");
}

// Whichever core comes when.
void ExpectRefused(const Programs& programs, const std::string& words) {
  std::vector<int> cores(programs.size());
  std::iota(cores.begin(), cores.end(), 0);
  do {
    EXPECT_THAT(Refusal(programs, cores), HasSubstr(words)) << ::testing::PrintToString(cores);
  } while (std::ranges::next_permutation(cores).found);
}
void ExpectRefused(const std::vector<Body>& core0, const std::vector<Body>& core1,
                   const std::string& words) {
  const std::string text = Refusal({core0, core1}, {0, 1});
  EXPECT_THAT(text, HasSubstr(words));
  EXPECT_EQ(text, Refusal({core0, core1}, {1, 0}));
}
void ExpectPasses(const Programs& programs) {
  std::vector<int> cores(programs.size());
  std::iota(cores.begin(), cores.end(), 0);
  do {
    EXPECT_EQ(Refusal(programs, cores), "") << ::testing::PrintToString(cores);
  } while (std::ranges::next_permutation(cores).found);
}

TEST(MeetingOrder, TheSameMeetingsInOneOrderPass) {
  const std::vector<Body> program = {Barrier(), Exchange(0), Exchange(3), Barrier(128),
                                     Exchange(0)};
  ExpectPasses({program, program});
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

TEST(MeetingOrder, PairsASendRecvWithThatOfItsPeer) {
  ExpectPasses({{With(1), Barrier(), With(2, 7)},
                {With(0), With(3, 2), Barrier()},
                {With(3), Barrier(), With(0, 7)},
                {With(2), With(1, 2), Barrier()}});
}

// Neighbours of a ring exchange in turns.
TEST(MeetingOrder, ARingOfSwapsPassesWhenNeighboursAgreeOnATurn) {
  ExpectPasses({{With(1), With(3)}, {With(0), With(2)}, {With(3), With(1)}, {With(2), With(0)}});
  ExpectPasses({{With(1), With(2)}, {With(0), With(2)}, {With(1), With(0)}});
}

TEST(MeetingOrder, RejectsARingInWhichEachWaitsForTheNext) {
  ExpectRefused(
      {{With(1), With(2)}, {With(2), With(0)}, {With(0), With(1)}},
      "core 0 instruction 0 (sendrecv) waits for core 1, core 1 instruction 10 (sendrecv) "
      "waits for core 2, core 2 instruction 20 (sendrecv) waits for core 0: a ring in "
      "which no core can go on");
  ExpectRefused({{Barrier()},
                 {Barrier(), With(2), With(3)},
                 {Barrier(), With(3), With(1)},
                 {Barrier(), With(1), With(2)}},
                "core 1 instruction 11 (sendrecv) waits for core 2");
}

TEST(MeetingOrder, RejectsABarrierOneCoreComesToLate) {
  ExpectRefused(
      {{Barrier(), With(2)}, {Barrier()}, {With(0), Barrier()}},
      "core 0 instruction 0 is a core_barrier, core 2 instruction 20 is a sendrecv: cores "
      "0 and 2 must come to their meetings in one order");
}

TEST(MeetingOrder, RejectsABarrierOneOfManyNamesDifferently) {
  ExpectRefused({{Barrier()}, {Barrier()}, {Barrier()}, {Barrier(128)}},
                "core 3 instruction 30 names hbm+0x80");
}

TEST(MeetingOrder, NamesAllCoresABarrierWaitsFor) {
  ExpectRefused({{Barrier()}, {}, {Barrier()}, {}},
                "core 0 instruction 0 (core_barrier) waits for cores 1, 3, which have ended");
}

// Core 0 waits for core 1 only because that one waits.
TEST(MeetingOrder, NamesTheCoreThatEndedNotOneThatWaits) {
  ExpectRefused({{With(1)}, {With(2), With(0)}, {}},
                "core 1 instruction 10 (sendrecv) waits for core 2, which has ended");
}

TEST(MeetingOrder, NamesTheFirstThatStaysAlone) {
  ExpectRefused({Barrier(), Exchange(2), Barrier()}, {Barrier()},
                "core 0 instruction 1 (sendrecv) waits for core 1, which has ended");
  ExpectRefused({}, {Barrier()}, "core 1 instruction 10 (core_barrier) waits for core 0");
}

}  // namespace
}  // namespace bwmm::isa
