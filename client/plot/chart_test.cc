#include "client/plot/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_join.h"
#include "client/columns.h"

namespace ddp {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

ChartPoint At(double x, double value) {
  return {x, x, value, value, value, value, value, std::isfinite(value) ? 0 : 1};
}

// A point for each step from 0.
ChartSeries Steps(const std::string& name, const std::vector<double>& values) {
  ChartSeries series{name, {}};
  for (size_t i = 0; i < values.size(); ++i) series.points.push_back(At(static_cast<double>(i), values[i]));
  return series;
}

std::vector<double> Halves(int count, double first, double second) {
  std::vector<double> values(static_cast<size_t>(count), first);
  std::fill(values.begin() + count / 2, values.end(), second);
  return values;
}

std::string Draw(const std::vector<ChartSeries>& series, ChartOptions options) {
  return absl::StrJoin(Chart(series, options), "\n") + "\n";
}

// 18 columns of one step each, 6 dots high: the fall from 2 to 0 goes through three dots of each of two columns.
TEST(ChartTest, AsciiFall) {
  EXPECT_EQ(Draw({Steps("loss", Halves(18, 2, 0))}, {.width = 20, .height = 3, .glyphs = Glyphs::kAscii}),
            "loss  0 at step 17\n"
            "2+'''''''':\n"
            "1+        '.\n"
            "0+         :........\n"
            " ++---------+-------\n"
            "  0        10\n");
}

// 34 x 12 dots, so that a step is one dot to the right and 1 is one dot up.
TEST(ChartTest, ABucketIsDrawnFromItsSmallestToItsLargestValue) {
  ChartSeries series = Steps("v", std::vector<double>(34, 0));
  series.points[4].max = 11;
  EXPECT_EQ(Draw({series}, {.width = 20, .height = 3}),
            "v  0 at step 33\n"
            "10┤  ⡇\n"
            "  │  ⡇\n"
            " 0┤⣀⣀⣇⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀\n"
            "  └┬─────────┬──────\n"
            "   0        20\n");
}

TEST(ChartTest, SmoothingKeepsTheTwoEndsOfWhatItHides) {
  ChartSeries series = Steps("v", std::vector<double>(34, 0));
  series.points[4].max = 11;
  EXPECT_EQ(Draw({series}, {.width = 20, .height = 3, .smooth = 0.9}),
            "v  0 at step 33\n"
            "10┤  ⠁\n"
            "  │\n"
            " 0┤⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀\n"
            "  └┬─────────┬──────\n"
            "   0        20\n");
}

TEST(ChartTest, WhatIsNotFiniteIsAGapWithACross) {
  std::vector<double> values(16, 1);
  values[7] = kNan;
  EXPECT_EQ(Draw({Steps("n", values)}, {.width = 20, .height = 3, .glyphs = Glyphs::kAscii}),
            "n  1 at step 15\n"
            "1.5+\n"
            "1.0+''''''' ''''''''\n"
            "0.5+\n"
            "   ++------x--+-----\n"
            "    0        10\n");
  EXPECT_EQ(Chart({Steps("n", values)}, {.width = 60})[0], "n  1 at step 15  min 1  max 1  1 not finite (×)");
}

TEST(ChartTest, NothingFinite) {
  EXPECT_EQ(Draw({Steps("n", {kNan, kNan})}, {.width = 20, .height = 3, .glyphs = Glyphs::kAscii}),
            "n  nan at step 1\n|\n|\n|\n+x-----------------x\n 0                 1\n");
}

TEST(ChartTest, LogarithmicAxis) {
  EXPECT_EQ(Draw({Steps("l", Halves(16, 1, 100))}, {.width = 20, .height = 3, .log_y = true, .glyphs = Glyphs::kAscii}),
            "l  100 at step 15\n"
            "100+        :'''''''\n"
            " 10+       .'\n"
            "  1+.......:\n"
            "   ++---------+-----\n"
            "    0        10\n");
  const ChartSeries negative = Steps("l", {-1, 10, 100});
  EXPECT_EQ(Chart({negative}, {.width = 90, .log_y = true})[0],
            "l  100 at step 2  min -1  max 100  some <= 0, below a logarithmic axis");
}

TEST(ChartTest, SeveralSeriesWithoutColoursHaveTheirSigns) {
  EXPECT_EQ(Draw({Steps("a", std::vector<double>(18, 0)), Steps("b", std::vector<double>(18, 2))},
                 {.width = 20, .height = 3}),
            "* a  0 at step 17\n"
            "+ b  2 at step 17\n"
            "2┤++++++++++++++++++\n"
            "1┤\n"
            "0┤******************\n"
            " └┬─────────┬───────\n"
            "  0        10\n");
}

TEST(ChartTest, WithColoursEachSeriesHasItsOwn) {
  const std::vector<std::string> lines =
      Chart({Steps("a", std::vector<double>(36, 0)), Steps("b", std::vector<double>(36, 2))},
            {.width = 20, .height = 3, .color = true});
  EXPECT_EQ(lines[0], "\x1b[36ma  0 at step 35\x1b[0m");
  EXPECT_EQ(lines[1], "\x1b[33mb  2 at step 35\x1b[0m");
  EXPECT_EQ(lines[2], "2┤\x1b[33m⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉\x1b[0m");
  EXPECT_EQ(lines[4], "0┤\x1b[36m⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀\x1b[0m");
}

TEST(ChartTest, TimeAxes) {
  // 2026-12-03 00:00:00 UTC.
  ChartSeries series{"loss", {At(1796256000, 1), At(1796259600, 2)}};
  const std::vector<std::string> wall = Chart({series}, {.width = 40, .height = 3, .x = v1::X_AXIS_WALL_TIME});
  EXPECT_EQ(wall[0], "loss  2 at 2026-12-03 01:00:00  min 1");
  EXPECT_EQ(wall[5], "  00:00             00:30          01:00");
  series.points = {At(0, 1), At(60, 2)};
  EXPECT_EQ(Chart({series}, {.width = 40, .height = 3, .x = v1::X_AXIS_RELATIVE_TIME})[0],
            "loss  2 at 60 s  min 1  max 2");
  EXPECT_EQ(Chart({series}, {.width = 40, .height = 3, .x = v1::X_AXIS_EPOCH})[0], "loss  2 at epoch 60  min 1  max 2");
}

TEST(ChartTest, NoLineIsWiderThanWanted) {
  std::vector<double> values;
  for (int i = 0; i < 3000; ++i) values.push_back(i % 97 == 0 ? kNan : 1e5 * std::sin(i) / (i + 1));
  for (int width = 20; width < 130; width += 3) {
    for (const Glyphs glyphs : {Glyphs::kUnicode, Glyphs::kAscii}) {
      for (const std::string& line : Chart({Steps("loss", values), Steps("a name that is long", {1})},
                                           {.width = width, .height = 7, .glyphs = glyphs})) {
        EXPECT_LE(Columns(line), width) << line;
        EXPECT_TRUE(glyphs == Glyphs::kUnicode || line.size() == static_cast<size_t>(Columns(line))) << line;
      }
    }
  }
}

TEST(ChartTest, HugeValuesAndNamesThatWouldSteer) {
  const std::vector<std::string> lines = Chart({Steps("\x1b[2J", {-1.7e308, 1.7e308})}, {.width = 40, .height = 4});
  EXPECT_EQ(lines[0], "\\x1B[2J  1.7e+308 at step 1");
  EXPECT_EQ(lines.size(), 7);
  EXPECT_EQ(Chart({{"none", {}}}, {}), std::vector<std::string>{"none  no points"});
}

TEST(SmoothTest, AsInTensorBoard) {
  // 0.5 * 1 / 0.5; (0.25 * 1 + 0.5 * 2) / 0.75; (0.125 * 1 + 0.25 * 2 + 0.5 * 6) / 0.875
  const std::vector<double> smoothed = Smooth({1, 2, kNan, 6}, 0.5);
  EXPECT_DOUBLE_EQ(smoothed[0], 1);
  EXPECT_DOUBLE_EQ(smoothed[1], 1.25 / 0.75);
  EXPECT_TRUE(std::isnan(smoothed[2]));
  EXPECT_DOUBLE_EQ(smoothed[3], 3.625 / 0.875);
  EXPECT_EQ(Smooth({0.1, 0.1, 0.1}, 0.9), (std::vector<double>{0.1, 0.1, 0.1}));
}

}  // namespace
}  // namespace ddp
