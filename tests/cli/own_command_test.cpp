// A workload with the name of a command: its own binary, because a registration stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command_line.h"
#include "model/support/sim_error.h"
#include "workloads/registry.h"

namespace bwmm::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::unique_ptr<workloads::Workload> Never() {
  return workloads::FindWorkload("list").make();
}

TEST(OwnCommand, RejectsTheNameOfACommand) {
  const workloads::Registration list(
      {.name = "list", .help = "", .make = Never, .subcommand = true});
  EXPECT_THAT(([] {
                RunCommandLine({"list", "models"});
              }),
              ThrowsMessage<SimError>(HasSubstr("workload list: a command has the name")));
}

}  // namespace
}  // namespace bwmm::cli
