// Neither way of running a program gives bits under a floating point that is not the agreed one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfenv>
#include <functional>
#include <initializer_list>
#include <string>

#include "model/ops/executor.h"
#include "model/support/sim_error.h"
#include "model/system/machine.h"

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace bwmm {
namespace {

std::string RefusalOf(const std::function<void()>& run) {
  try {
    run();
  } catch (const SimError& error) {
    return error.what();
  }
  return "";
}

void ExpectBothRefuse(const std::function<void()>& bend, const std::function<void()>& restore,
                      const std::string& what) {
  const MachineConfig machine = LoadMachine("trn3");
  const ops::Program nothing = [](isa::Sink&) {};
  ops::Hbm hbm;
  for (const std::function<void()>& run : std::initializer_list<std::function<void()>>{
           [&] { RunMachine(machine, Fidelity::kFast, hbm, nothing); },
           [&] { ops::RunSequentially(LimitsOf(machine), hbm, nothing); }}) {
    bend();
    const std::string refusal = RefusalOf(run);
    restore();
    EXPECT_THAT(refusal, testing::HasSubstr(what));
    EXPECT_EQ(RefusalOf(run), "");
  }
}

TEST(HostFloat, RejectsAnotherRounding) {
  ExpectBothRefuse([] { std::fesetround(FE_DOWNWARD); }, [] { std::fesetround(FE_TONEAREST); },
                   "downward");
}

#ifdef __SSE__
TEST(HostFloat, RejectsFlushedSubnormals) {
  const unsigned before = _mm_getcsr();
  ExpectBothRefuse([&] { _mm_setcsr(before | 0x8000); }, [&] { _mm_setcsr(before); }, "FTZ");
  ExpectBothRefuse([&] { _mm_setcsr(before | 0x0040); }, [&] { _mm_setcsr(before); }, "DAZ");
}
#endif

}  // namespace
}  // namespace bwmm
