// Settings are read whole: no number with something behind it, no key that only begins alike.
#include "model/support/setting.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace bwmm {
namespace {

struct Row {
  std::string_view key;
};

TEST(Setting, IsSplitAtTheFirstEqualsSign) {
  EXPECT_EQ(SplitKeyValue("a.b=c=d").key, "a.b");
  EXPECT_EQ(SplitKeyValue("a.b=c=d").value, "c=d");
  for (const char* text : {"", "a", "=b", "a=", "="})
    EXPECT_EQ(SplitKeyValue(text).key, "") << text;
}

TEST(Setting, ANumberIsAllOfTheText) {
  std::int32_t value = 7;
  for (const char* text : {"", "4x", " 4", "4 ", "+4", "0x4", "1.5"}) {
    EXPECT_EQ(ParseWhole(text, value), Parsed::kNoNumber) << text;
    EXPECT_EQ(value, 7);
  }
  EXPECT_EQ(ParseWhole("2147483648", value), Parsed::kOutOfRange);
  EXPECT_EQ(ParseWhole("-2147483648", value), Parsed::kNumber);
  EXPECT_EQ(value, -2147483647 - 1);
  double real = 0;
  EXPECT_EQ(ParseWhole("1.5e3", real), Parsed::kNumber);
  EXPECT_EQ(real, 1500);
  EXPECT_EQ(ParseWhole("1e999", real), Parsed::kOutOfRange);
}

TEST(Setting, RejectsAKeyThatIsNotThereWithThoseThatAre) {
  const std::vector<Row> rows = {{"a"}, {"ab"}};
  std::string said;
  const auto refuse = [&](const std::string& known) {
    said = known;
    throw std::runtime_error(known);
  };
  EXPECT_EQ(&FindKey(rows, "ab", refuse), &rows[1]);
  EXPECT_THROW(FindKey(rows, "abc", refuse), std::runtime_error);
  EXPECT_EQ(said, "a, ab");
}

}  // namespace
}  // namespace bwmm
