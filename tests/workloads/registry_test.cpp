// Two files with one workload's name: its own binary, because a registration stays.
#include "workloads/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/support/sim_error.h"

namespace bwmm::workloads {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Registry, RejectsTwoWorkloadsOfOneName) {
  const Registration first({.name = "twin", .help = "", .make = nullptr});
  EXPECT_EQ(FindWorkload("twin").name, "twin");
  const Registration second({.name = "twin", .help = "", .make = nullptr});
  EXPECT_THAT([] { FindWorkload("moe_cte"); },
              ThrowsMessage<SimError>(HasSubstr("workload twin: registered twice, allowed once")));
}

}  // namespace
}  // namespace bwmm::workloads
