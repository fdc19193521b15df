// Text from outside as one line of UTF-8.
#include "model/support/printable.h"

#include <gtest/gtest.h>

#include <string>

#include "model/support/sim_error.h"

namespace bwmm {
namespace {

const std::string kReplaced = "\xef\xbf\xbd";

TEST(Printable, KeepsTextOfEveryLength) {
  for (const std::string text : {"", "plain ~", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x9a\x80",
                                 "\xc2\x80", "\xe0\xa0\x80", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf"})
    EXPECT_EQ(Printable(text), text);
}

TEST(Printable, ReplacesControlCharacters) {
  EXPECT_EQ(Printable("a\nb\x1b[2Jc\x7f\td"), "a?b?[2Jc??d");
  EXPECT_EQ(Printable(std::string("a\0b", 3)), "a?b");
}

TEST(PrintableLines, KeepsTheBreaksInFrontOfIndentedLines) {
  EXPECT_EQ(PrintableLines("deadlock\n  core 0\n      memset\n  core 1"),
            "deadlock\n  core 0\n      memset\n  core 1");
  EXPECT_EQ(PrintableLines("a\nb\n c\n\td\n"), "a?b? c??d?");
  EXPECT_EQ(PrintableLines("x\r\n  y\xff"), "x?\n  y" + kReplaced);
}

TEST(IsUtf8, TellsWhatPrintableReplaces) {
  for (const std::string text : {"", "plain ~", "\xc3\xa4", "\n", "\xf0\x9f\x9a\x80"})
    EXPECT_TRUE(IsUtf8(text)) << text;
  for (const std::string text : {"\xff", "a\xc3", "\xc0\xaf", "\xed\xa0\x80", "ok \xe2\x82"})
    EXPECT_FALSE(IsUtf8(text)) << text;
}

// what() is text that ends at a NUL.
TEST(SimError, SaysAllOfAValueWithANul) {
  EXPECT_STREQ(SimError("{}: no name", std::string("a\0b", 3)).what(), "a?b: no name");
  EXPECT_STREQ(SimError(std::string("a\0b: no name", 12)).what(), "a?b: no name");
}

TEST(Printable, ReplacesEachByteThatIsNoUtf8) {
  EXPECT_EQ(Printable("a\xff"
                      "b"),
            "a" + kReplaced + "b");
  EXPECT_EQ(Printable("\x80"), kReplaced);
  EXPECT_EQ(Printable("\xc3"), kReplaced);  // ends too early
  EXPECT_EQ(Printable("\xe2\x82"), kReplaced + kReplaced);
  EXPECT_EQ(Printable("\xe2\x82"
                      "x"),
            kReplaced + kReplaced + "x");
  EXPECT_EQ(Printable("\xc0\xaf"), kReplaced + kReplaced);  // an overlong slash
  EXPECT_EQ(Printable("\xe0\x9f\x80"), kReplaced + kReplaced + kReplaced);
  EXPECT_EQ(Printable("\xed\xa0\x80"), kReplaced + kReplaced + kReplaced);  // a surrogate
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"),
            kReplaced + kReplaced + kReplaced + kReplaced);  // beyond U+10FFFF
  EXPECT_EQ(Printable("\xf5\x80"), kReplaced + kReplaced);
}

}  // namespace
}  // namespace bwmm
