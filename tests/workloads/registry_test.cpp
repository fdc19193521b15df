// Two files with one workload's name: its own binary, because a registration stays.
#include "workloads/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/support/sim_error.h"

namespace bwmm::workloads {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::unique_ptr<Workload> None() {
  return nullptr;
}

TEST(Registry, RejectsWhatIsNoName) {
  for (const std::string name : {"", "with space", "-x", "a=b", "Upper"}) {
    EXPECT_THAT([&] { CheckEntry({.name = name, .help = "", .make = None}); },
                ThrowsMessage<SimError>(HasSubstr("workload " + name + ": allowed are names")));
  }
  EXPECT_THAT([] { CheckEntry({.name = "none", .help = ""}); },
              ThrowsMessage<SimError>(HasSubstr("workload none: has no make")));
}

TEST(Registry, RejectsTwoWorkloadsOfOneName) {
  const Registration first({.name = "twin", .help = "", .make = None});
  EXPECT_EQ(FindWorkload("twin").name, "twin");
  const Registration second({.name = "twin", .help = "", .make = None});
  EXPECT_THAT([] { FindWorkload("moe_cte"); },
              ThrowsMessage<SimError>(HasSubstr("workload twin: registered twice, allowed once")));
}

}  // namespace
}  // namespace bwmm::workloads
