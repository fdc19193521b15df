// The arbiter alone: when it grants, and in which order.
#include "model/units/phase_arbiter.h"

#include "tests/units/unit_harness.h"

namespace bwmm::units {
namespace {

using testing::ElementsAre;

class PhaseArbiterTest : public UnitTest {
 protected:
  // Logs "core c" with the even phase it was told.
  void AddCore(int core) {
    arbiter.Add(core, [this, core](Tick even) {
      log.Add("core " + std::to_string(core), static_cast<std::uint32_t>(even));
    });
  }
  PhaseArbiter arbiter{"arbiter", run};
};

TEST_F(PhaseArbiterTest, GrantsInTheOddPhaseByCore) {
  AddCore(0);
  AddCore(1);
  script.At(10, [&] {
    arbiter.RequestAt(1, 10);
    arbiter.RequestAt(0, 10);
  });
  Run();
  EXPECT_THAT(log.seen(), ElementsAre(Seen{11, "core 0", 10}, Seen{11, "core 1", 10}));
}

TEST_F(PhaseArbiterTest, GrantsOnceForAllRequestsOfOneCoreAndPhase) {
  AddCore(0);
  script.At(10, [&] {
    for (int i = 0; i < 3; ++i)
      arbiter.RequestAt(0, 20);
    arbiter.RequestAt(0, 19);  // rounded up to the next even phase
  });
  Run();
  EXPECT_THAT(log.seen(), ElementsAre(Seen{21, "core 0", 20}));
}

TEST_F(PhaseArbiterTest, GrantsLaterRequestsLater) {
  AddCore(0);
  AddCore(1);
  script.At(0, [&] {
    arbiter.RequestAt(1, 30);
    arbiter.RequestAt(0, 40);
    arbiter.RequestAt(0, 20);
  });
  Run();
  EXPECT_THAT(log.seen(),
              ElementsAre(Seen{21, "core 0", 20}, Seen{31, "core 1", 30}, Seen{41, "core 0", 40}));
}

TEST_F(PhaseArbiterTest, TakesRequestsThatAGrantMakes) {
  // Core 1 asks in its grant: for the same phase, which is granted still, and for a later one.
  AddCore(0);
  int asked = 0;
  arbiter.Add(1, [&](Tick even) {
    log.Add("core 1", static_cast<std::uint32_t>(even));
    if (asked++ == 0) {
      arbiter.RequestAt(0, even);
      arbiter.RequestAt(0, even + 2);
    }
  });
  script.At(8, [&] { arbiter.RequestAt(1, 8); });
  Run();
  EXPECT_THAT(log.seen(),
              ElementsAre(Seen{9, "core 1", 8}, Seen{9, "core 0", 8}, Seen{11, "core 0", 10}));
}

TEST_F(PhaseArbiterTest, DoesNotGrantBeforeThePhaseIsOver) {
  // The request for 8 was made in time; the one for 10 is not due in the odd phase 9.
  AddCore(0);
  script.At(8, [&] {
    arbiter.RequestAt(0, 8);
    arbiter.RequestAt(0, 10);
  });
  Run();
  EXPECT_THAT(log.seen(), ElementsAre(Seen{9, "core 0", 8}, Seen{11, "core 0", 10}));
}

TEST_F(PhaseArbiterTest, GrantsNothingAfterAnError) {
  AddCore(1);
  arbiter.Add(0, [](Tick) { throw SimError("grant {}", 0); });
  script.At(8, [&] {
    arbiter.RequestAt(0, 8);
    arbiter.RequestAt(1, 8);
    arbiter.RequestAt(1, 20);
  });
  EXPECT_EQ(ErrorOfRun(), "grant 0");
  EXPECT_TRUE(log.seen().empty());
}

}  // namespace
}  // namespace bwmm::units
