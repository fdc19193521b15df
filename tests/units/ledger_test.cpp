// The classes of a gap, cut by hand.
#include "model/units/ledger.h"

#include <gtest/gtest.h>

#include "model/units/streams.h"

namespace bwmm::units {
namespace {

TEST(Ledger, CutsAGapWhereItsObstaclesWentAway) {
  Ledger ledger;
  ledger.Until(100, TimeClass::kBusy);
  // 100 .. 130 not emitted, .. 180 waits for a DMA, .. 190 for itself.
  const TimeClass longest =
      ledger.Gap(190, {.emitted_at = 130, .open_at = 180, .cause = TimeClass::kDma});
  EXPECT_EQ(longest, TimeClass::kDma);
  EXPECT_EQ(ledger.ticks(TimeClass::kBusy), 100u);
  EXPECT_EQ(ledger.ticks(TimeClass::kControl), 30u);
  EXPECT_EQ(ledger.ticks(TimeClass::kDma), 50u);
  EXPECT_EQ(ledger.ticks(TimeClass::kStructural), 10u);
  EXPECT_EQ(ledger.until(), 190u);
}

TEST(Ledger, CountsNothingTwiceWhenAnObstacleWentAwayDuringTheWorkBefore) {
  Ledger ledger;
  ledger.Until(100, TimeClass::kBusy);
  EXPECT_EQ(ledger.Gap(120, {.emitted_at = 10, .open_at = 90, .cause = TimeClass::kTensor}),
            TimeClass::kStructural);
  EXPECT_EQ(ledger.ticks(TimeClass::kControl), 0u);
  EXPECT_EQ(ledger.ticks(TimeClass::kTensor), 0u);
  EXPECT_EQ(ledger.ticks(TimeClass::kStructural), 20u);
}

TEST(Ledger, CallsNoGapBusy) {
  Ledger ledger;
  ledger.Until(100, TimeClass::kBusy);
  EXPECT_EQ(ledger.Gap(100, {.emitted_at = 0, .open_at = 100, .cause = TimeClass::kSync}),
            TimeClass::kBusy);
  EXPECT_EQ(ledger.until(), 100u);
}

TEST(Ledger, NamesTheEarlierOfTwoEquallyLongObstacles) {
  Ledger ledger;
  EXPECT_EQ(ledger.Gap(20, {.emitted_at = 10, .open_at = 20, .cause = TimeClass::kPeer}),
            TimeClass::kControl);
}

TEST(Ledger, CutsNothingBehindTheStart) {
  // A part of a transfer can start before the transfer's other obstacles are over.
  Ledger ledger;
  ledger.Gap(50, {.emitted_at = 60, .open_at = 70, .cause = TimeClass::kDma});
  EXPECT_EQ(ledger.ticks(TimeClass::kControl), 50u);
  EXPECT_EQ(ledger.until(), 50u);
}

TEST(Ledger, DoesNotGoBack) {
  Ledger ledger;
  ledger.Until(100, TimeClass::kBusy);
  ledger.Until(80, TimeClass::kIdle);
  EXPECT_EQ(ledger.until(), 100u);
  EXPECT_EQ(ledger.ticks(TimeClass::kIdle), 0u);
}

TEST(GateState, NamesTheLastDependencyToBecomeVisible) {
  GateState gate;
  gate.Open(50, TimeClass::kDma);
  gate.Open(40, TimeClass::kPeer);
  EXPECT_EQ(gate.open_at, 50u);
  EXPECT_EQ(gate.cause, TimeClass::kDma);
}

TEST(GateState, NamesTheLastClassOfOneTickInWhateverOrder) {
  for (const bool swapped : {false, true}) {
    GateState gate;
    gate.Open(50, swapped ? TimeClass::kScalar : TimeClass::kVector);
    gate.Open(50, swapped ? TimeClass::kVector : TimeClass::kScalar);
    EXPECT_EQ(gate.open_at, 50u);
    EXPECT_EQ(gate.cause, TimeClass::kScalar);
  }
}

TEST(GateState, IsStructuralWhenNothingHadToBeWaitedFor) {
  GateState gate{.open_at = 100};
  gate.Open(90, TimeClass::kDma);
  gate.Open(100, TimeClass::kVector);
  EXPECT_EQ(gate.open_at, 100u);
  EXPECT_EQ(gate.cause, TimeClass::kStructural);
}

}  // namespace
}  // namespace bwmm::units
