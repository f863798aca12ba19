#include "common/text.h"

#include <gtest/gtest.h>

namespace ddp {
namespace {

TEST(EscapeControls, LeavesTextAlone) {
  EXPECT_EQ(EscapeControls("Größe 数据 🚀 a/b \"q\""), "Größe 数据 🚀 a/b \"q\"");
  EXPECT_EQ(EscapeControls(""), "");
}

TEST(EscapeControls, EscapesWhatCouldForgeLinesOrMoveTheCursor) {
  EXPECT_EQ(EscapeControls("a\nb\tc\\d"), R"(a\nb\tc\\d)");
  EXPECT_EQ(EscapeControls("\x1b[2J\r\x7f"), R"(\x1B[2J\x0D\x7F)");
  EXPECT_EQ(EscapeControls(std::string_view("\0x", 2)), R"(\x00x)");
  EXPECT_EQ(EscapeControls("\xC2\x9B"
                           "31m"),
            R"(\xC2\x9B31m)");
}

TEST(EscapeForTerminal, KeepsLinesAndWhatHasBeenEscaped) {
  EXPECT_EQ(EscapeForTerminal("a\n\tb\\x1B\x1b\r\xE9"), "a\n\tb\\x1B\\x1B\\x0D\\xE9");
  EXPECT_EQ(EscapeForTerminal(EscapeControls("\x1b")), EscapeControls("\x1b"));
}

TEST(EscapeControls, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(EscapeControls("caf\xE9!"), R"(caf\xE9!)");
  EXPECT_EQ(EscapeControls("\xE6\x95"), R"(\xE6\x95)");
}

TEST(NearestName, FindsTypos) {
  const std::vector<std::string> names = {"learning_rate", "epochs", "batch_size", "mlp"};
  EXPECT_EQ(NearestName("learning_rat", names), "learning_rate");
  EXPECT_EQ(NearestName("epoch", names), "epochs");
  EXPECT_EQ(NearestName("batchsize", names), "batch_size");
  EXPECT_EQ(NearestName("mlpp", names), "mlp");
}

TEST(NearestName, StaysSilentWhenNothingIsNear) {
  EXPECT_EQ(NearestName("zzzzzz", {"epochs"}), "");
  EXPECT_EQ(NearestName("ab", {"xy", "ax"}), "");        // distance 1 is not less than half of 2
  EXPECT_EQ(NearestName("abcdefghij", {"abcdef"}), "");  // distance 4
  EXPECT_EQ(NearestName("abcdefghi", {"abcdef"}), "abcdef");
  EXPECT_EQ(NearestName("word", {}), "");
}

TEST(Utf8, AcceptsAllLengths) {
  for (const char* good : {"", "a", "é", "€", "🚀", "\xF4\x8F\xBF\xBF", "\xEF\xBB\xBF"}) EXPECT_TRUE(IsValidUtf8(good));
}

TEST(Utf8, RefusesOverlongSurrogatesAndCutSequences) {
  for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "a\xC3", "\xE2\x82", "\xC3("}) {
    EXPECT_FALSE(IsValidUtf8(bad));
  }
}

TEST(Utf8, FindsTheFirstInvalidByte) {
  EXPECT_EQ(FindInvalidUtf8("größe"), std::string_view::npos);
  EXPECT_EQ(FindInvalidUtf8("it\x92s \x93"), 2U);
  EXPECT_EQ(FindInvalidUtf8("é\xE2\x82"), 2U);  // an unfinished sequence: where it begins
}

TEST(CutUtf8Test, BetweenCharacters) {
  EXPECT_EQ(CutUtf8("abc", 3), "abc");
  EXPECT_EQ(CutUtf8("abc", 2), "ab");
  EXPECT_EQ(CutUtf8("a\u00fc", 2), "a");  // two bytes
  EXPECT_EQ(CutUtf8("\u20ac", 2), "");    // three bytes
  EXPECT_EQ(CutUtf8("a\u20acb", 4), "a\u20ac");
  EXPECT_EQ(CutUtf8("", 0), "");
}

}  // namespace
}  // namespace ddp
