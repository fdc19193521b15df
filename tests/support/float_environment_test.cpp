// A host that bends floating point is refused, for what it bends.
#include "model/support/float_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfenv>
#include <string>

#include "model/support/sim_error.h"

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace bwmm {
namespace {

std::string Refusal() {
  try {
    CheckFloatEnvironment();
  } catch (const SimError& error) {
    return error.what();
  }
  return "";
}

TEST(FloatEnvironment, AcceptsTheOneAProgramStartsWith) {
  EXPECT_EQ(Refusal(), "");
}

TEST(FloatEnvironment, RejectsOtherRoundings) {
  const std::pair<int, std::string> modes[] = {
      {FE_UPWARD, "upward"}, {FE_DOWNWARD, "downward"}, {FE_TOWARDZERO, "toward zero"}};
  for (const auto& [mode, name] : modes) {
    ASSERT_EQ(std::fesetround(mode), 0);
    const std::string refusal = Refusal();
    std::fesetround(FE_TONEAREST);
    EXPECT_THAT(refusal, testing::HasSubstr("rounding is " + name + ", allowed to nearest"));
  }
  EXPECT_EQ(Refusal(), "");
}

#ifdef __SSE__
TEST(FloatEnvironment, RejectsFlushedSubnormals) {
  constexpr unsigned kDaz = 0x0040, kFtz = 0x8000, kRoundUp = 0x4000;
  const std::pair<unsigned, std::string> bits[] = {
      {kFtz, "FTZ"}, {kDaz, "DAZ"}, {kRoundUp, "upward"}};
  const unsigned before = _mm_getcsr();
  for (const auto& [bit, name] : bits) {
    _mm_setcsr(before | bit);
    const std::string refusal = Refusal();
    _mm_setcsr(before);
    EXPECT_THAT(refusal, testing::HasSubstr(name));
    EXPECT_THAT(refusal, testing::HasSubstr("allowed"));
  }
  EXPECT_EQ(Refusal(), "");
}
#endif

}  // namespace
}  // namespace bwmm
