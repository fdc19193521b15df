// What the machine tells late and unit by unit becomes one list by time.
#include "model/engine/machine_states.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace bwmm::engine {
namespace {

constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

// "time unit busy id opcode waiting", one change a line.
std::string TextOf(const std::vector<UnitChange>& changes) {
  std::string text;
  for (const UnitChange& c : changes) {
    text += std::to_string(c.time_ps) + " " +
            std::string(kTracedUnitNames[static_cast<int>(c.unit)]) +
            (c.signals.busy ? " busy " + std::to_string(c.signals.id) : " -") + " " +
            c.signals.opcode + c.signals.waiting + "\n";
  }
  return text;
}

MachineStates TwoUnits() {
  MachineStates states;
  states.Spent(0, 100, TracedUnit::kVector, "dma");
  states.Started(100, TracedUnit::kVector, 7, "memset");
  states.Spent(100, 150, TracedUnit::kVector, "");
  states.Started(150, TracedUnit::kVector, 9, "iota");
  states.Spent(150, 180, TracedUnit::kVector, "");
  // Told after everything of the other unit.
  states.Started(40, TracedUnit::kDma, 3, "dma_copy");
  states.Spent(0, 40, TracedUnit::kDma, "structural");
  states.Started(60, TracedUnit::kDma, 4, "dma_copy");
  states.Spent(40, 90, TracedUnit::kDma, "");
  states.Spent(90, 200, TracedUnit::kDma, "idle");
  return states;
}

TEST(MachineStates, AreInOrderOfTimeWhateverTheOrderOfTelling) {
  EXPECT_EQ(TextOf(TwoUnits().Changes(0, kEnd)),
            "0 vector - dma\n"
            "0 dma - structural\n"
            "40 dma busy 3 dma_copy\n"
            "60 dma busy 4 dma_copy\n"
            "90 dma - idle\n"
            "100 vector busy 7 memset\n"
            "150 vector busy 9 iota\n"
            "180 vector - \n"
            "200 dma - \n");
}

TEST(MachineStates, OfAWindowBeginWithWhatIsGoingOn) {
  EXPECT_EQ(TextOf(TwoUnits().Changes(50, 150)),
            "50 vector - dma\n"
            "50 dma busy 3 dma_copy\n"
            "60 dma busy 4 dma_copy\n"
            "90 dma - idle\n"
            "100 vector busy 7 memset\n");
  EXPECT_EQ(TextOf(TwoUnits().Changes(100, 101)),
            "100 vector busy 7 memset\n"
            "100 dma - idle\n");
}

TEST(MachineStates, NameNoInstructionWhileWaiting) {
  MachineStates states;
  states.Started(0, TracedUnit::kGpSimd, 5, "core_barrier");
  states.Spent(0, 30, TracedUnit::kGpSimd, "peer");
  EXPECT_EQ(TextOf(states.Changes(0, kEnd)),
            "0 gpsimd - peer\n"
            "30 gpsimd - \n");
}

TEST(MachineStates, OfNothingAreNone) {
  EXPECT_TRUE(MachineStates().Changes(0, kEnd).empty());
}

}  // namespace
}  // namespace bwmm::engine
