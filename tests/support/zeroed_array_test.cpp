#include "model/support/zeroed_array.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

namespace bwmm {
namespace {

TEST(ZeroedArray, IsZeroUntilWrittenAndKeepsWhatIs) {
  for (int round = 0; round < 3; ++round) {  // memory that was used is zero again
    ZeroedArray<std::uint32_t> array(1000);
    ASSERT_EQ(array.size(), 1000u);
    EXPECT_EQ(std::count(array.data(), array.data() + array.size(), 0u), 1000);
    std::fill(array.data(), array.data() + array.size(), 7u);
    array[999] = 9;
    EXPECT_EQ(array[998], 7u);
    EXPECT_EQ(std::as_const(array)[999], 9u);
  }
}

TEST(ZeroedArray, TakesNoElements) {
  EXPECT_EQ(ZeroedArray<std::uint8_t>(0).size(), 0u);
}

TEST(ZeroedArray, RejectsMoreThanThereIs) {
  volatile std::size_t size = SIZE_MAX / 2;  // or the compiler refuses it
  EXPECT_THROW(ZeroedArray<std::uint32_t>{size}, std::bad_alloc);
}

}  // namespace
}  // namespace bwmm
