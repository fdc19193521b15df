// When results are in PSUM: not at the read edge, not one edge before kWritten, but at it. Both
// implementations are asked after every edge.
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <memory>

#include "model/engine/make_engines.h"

namespace bwmm::engine {
namespace {

constexpr TensorEngineConfig kSmall{.rows = 32, .cols = 64};
constexpr std::uint32_t kOld = 0x12345678;

LoadCommand Ones(std::uint32_t id) {
  LoadCommand load;
  load.id = id;
  load.rows = 32;
  load.cols = 64;
  load.data.assign(32 * 64, 0x3f80);  // 1.0
  return load;
}

// A move of n rows whose row r is r + 1 in each of the 32 partitions, so that its sum is
// 32 (r + 1).
MoveCommand Rows(std::uint32_t id, int n, int first_word) {
  MoveCommand move;
  move.id = id;
  move.rows = 32;
  move.n = n;
  move.psum_address = 2 * first_word;
  for (int k = 0; k < 32; ++k) {
    for (int r = 0; r < n; ++r)
      move.data.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(r + 1)) >> 16);
  }
  return move;
}

std::uint32_t WordOf(const TensorEngine& engine, int word) {
  std::vector<std::uint32_t> lanes(64);
  engine.ReadPsum(word, lanes);
  return lanes[63];
}

class EngineValues : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    engine = GetParam() ? MakeRtlTensorEngine(kSmall) : MakeFastTensorEngine(kSmall);
    const std::vector<std::uint32_t> old(64, kOld);
    for (int word = 0; word < 16; ++word)
      engine->WritePsum(word, old);
  }
  std::unique_ptr<TensorEngine> engine;
};

TEST_P(EngineValues, AppearAtTheWrittenEdgeAndNotBefore) {
  engine->Push(Ones(1));
  engine->Push(Rows(2, 3, 5));
  // The load starts at 1 and takes 16 edges; the move starts at 17, its last row is read at 19 and
  // written 33 edges later, at 52.
  constexpr Cycle kReadDone = 19, kWritten = kReadDone + 32 + 1;
  for (Cycle cycle = 0; cycle <= kWritten; ++cycle) {
    engine->AdvanceTo(cycle);  // edges before `cycle`
    EXPECT_EQ(WordOf(*engine, 7), kOld) << "before edge " << cycle;
  }
  engine->AdvanceTo(kWritten + 1);
  EXPECT_EQ(WordOf(*engine, 7), std::bit_cast<std::uint32_t>(96.0F));
  EXPECT_EQ(WordOf(*engine, 6), std::bit_cast<std::uint32_t>(64.0F));
  EXPECT_EQ(WordOf(*engine, 5), std::bit_cast<std::uint32_t>(32.0F));
  EXPECT_EQ(WordOf(*engine, 8), kOld) << "behind the last row";
  EXPECT_EQ(engine->TakeEvents().back(), (Event{2, EventKind::kWritten, kWritten}));
}

TEST_P(EngineValues, AppearMoveByMove) {
  engine->Push(Ones(1));
  engine->Push(Rows(2, 1, 0));
  MoveCommand again = Rows(3, 1, 0);
  again.accumulate = true;
  engine->Push(again);
  // 64 columns hold the port for 64 edges: the second move starts at 17 + 64.
  constexpr Cycle kFirst = 17 + 33, kSecond = kFirst + 64;
  for (Cycle cycle = 0; cycle <= kSecond + 1; ++cycle) {
    engine->AdvanceTo(cycle);
    const float sum = cycle > kSecond ? 64.0F : 32.0F;
    EXPECT_EQ(WordOf(*engine, 0), cycle > kFirst ? std::bit_cast<std::uint32_t>(sum) : kOld)
        << "before edge " << cycle;
  }
}

TEST_P(EngineValues, KeepTheWeightsOfTheMoveBefore) {
  // The second load is over long before the first move's result is there.
  engine->Push(Ones(1));
  engine->Push(Rows(2, 16, 0));
  LoadCommand twos = Ones(3);
  std::fill(twos.data.begin(), twos.data.end(), 0x4000);
  engine->Push(twos);
  engine->AdvanceTo(2);
  engine->Push(Rows(4, 1, 0));
  engine->AdvanceTo(200);
  EXPECT_EQ(WordOf(*engine, 0), std::bit_cast<std::uint32_t>(64.0F)) << "1 * 2 * 32";
  EXPECT_EQ(WordOf(*engine, 15), std::bit_cast<std::uint32_t>(512.0F)) << "16 * 1 * 32";
}

INSTANTIATE_TEST_SUITE_P(Engines, EngineValues, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Rtl" : "Fast"; });

}  // namespace
}  // namespace bwmm::engine
