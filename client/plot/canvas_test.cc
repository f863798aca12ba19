#include "client/plot/canvas.h"

#include <gtest/gtest.h>

namespace ddp {
namespace {

TEST(CanvasTest, EachDotOfABrailleCharacter) {
  // Unicode's chart: U+2801, 2802, 2804, 2840 down the left, U+2808, 2810, 2820, 2880 down the right.
  const std::vector<std::string> expected{"⠁", "⠂", "⠄", "⡀", "⠈", "⠐", "⠠", "⢀"};
  for (int i = 0; i < 8; ++i) {
    Canvas canvas(1, 1, DotStyle::kBraille);
    canvas.Dot(i / 4, i % 4, 1);
    EXPECT_EQ(canvas.Row(0, false), expected[static_cast<size_t>(i)]);
  }
}

TEST(CanvasTest, ADiagonal) {
  Canvas canvas(2, 1, DotStyle::kBraille);
  canvas.Line(0, 3, 3, 0, 1);
  EXPECT_EQ(canvas.Row(0, false), "⡠⠊");  // dots 7 and 6 (40 + 20), 2 and 4 (02 + 08)
}

TEST(CanvasTest, WhatIsOutsideIsLeftOut) {
  Canvas canvas(2, 2, DotStyle::kAscii);
  canvas.Line(-5, 1, 5, 1, 1);
  canvas.Dot(0, 4, 1);
  canvas.Dot(2, 0, 1);
  EXPECT_EQ(canvas.Row(0, false), "..");
  EXPECT_EQ(canvas.Row(1, false), "  ");
}

TEST(CanvasTest, AsciiHalves) {
  Canvas canvas(3, 1, DotStyle::kAscii);
  canvas.Dot(0, 0, 1);
  canvas.Dot(1, 1, 1);
  canvas.Line(2, 0, 2, 1, 1);
  EXPECT_EQ(canvas.Row(0, false), "'.:");
}

TEST(CanvasTest, ColoursAreSetOncePerRunAndAlwaysEnded) {
  Canvas canvas(4, 1, DotStyle::kMarks);
  canvas.Dot(0, 0, 1);
  canvas.Dot(1, 0, 1);
  canvas.Dot(3, 0, 2);
  EXPECT_EQ(canvas.Row(0, true), "\x1b[36m**\x1b[0m \x1b[33m+\x1b[0m");
}

}  // namespace
}  // namespace ddp
