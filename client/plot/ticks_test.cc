#include "client/plot/ticks.h"

#include <gtest/gtest.h>

#include "absl/strings/str_join.h"

namespace ddp {
namespace {

std::string Labels(const std::vector<Tick>& ticks) {
  return absl::StrJoin(ticks, " ", [](std::string* out, const Tick& tick) { *out += tick.label; });
}

TEST(TicksTest, Numbers) {
  EXPECT_EQ(Labels(NumberTicks(0, 1, 5)), "0 0.2 0.4 0.6 0.8 1.0");
  EXPECT_EQ(Labels(NumberTicks(-1, 1, 4)), "-1.0 -0.5 0 0.5 1.0");
  EXPECT_EQ(Labels(NumberTicks(0.013, 0.0187, 3)), "0.014 0.016 0.018");
  EXPECT_EQ(Labels(NumberTicks(97, 313, 3)), "100 200 300");
  EXPECT_EQ(Labels(NumberTicks(1e-7, 4e-7, 3)), "1e-7 2e-7 3e-7 4e-7");
  EXPECT_EQ(Labels(NumberTicks(0, 2.5e7, 3)), "0 1e7 2e7");
  EXPECT_EQ(NumberTicks(0, 1, 5)[1].value, 0.2);
}

TEST(TicksTest, RangesThatAreHardToDivide) {
  EXPECT_EQ(NumberTicks(3, 3, 4).size(), 1);
  EXPECT_FALSE(NumberTicks(-1.7e308, 1.7e308, 4).empty());
  EXPECT_FALSE(NumberTicks(5e-324, 1e-323, 4).empty());
  EXPECT_LE(NumberTicks(1, 1.0000000000000002, 4).size(), 6);
  EXPECT_FALSE(LogTicks(5e-324, 1.7e308, 4).empty());
}

TEST(TicksTest, AsManyAsWantedAtMostOneMore) {
  for (double hi = 1; hi < 5000; hi *= 1.07) {
    for (int wanted = 2; wanted < 9; ++wanted) {
      EXPECT_LE(static_cast<int>(NumberTicks(0, hi, wanted).size()), wanted + 1) << hi;
      EXPECT_GE(static_cast<int>(NumberTicks(0, hi, wanted).size()), 1) << hi;
    }
  }
}

TEST(TicksTest, Steps) {
  EXPECT_EQ(Labels(StepTicks(0, 3, 6)), "0 1 2 3");
  EXPECT_EQ(Labels(StepTicks(1, 1000, 4)), "500 1000");
  EXPECT_EQ(Labels(StepTicks(0, 20000, 4)), "0 5k 10k 15k 20k");
  EXPECT_EQ(Labels(StepTicks(0, 2000000, 4)), "0 0.5M 1.0M 1.5M 2.0M");
  EXPECT_EQ(Labels(StepTicks(7, 7, 4)), "7");
}

TEST(TicksTest, Logarithmic) {
  EXPECT_EQ(Labels(LogTicks(0.001, 10, 5)), "0.001 0.01 0.1 1 10");
  EXPECT_EQ(Labels(LogTicks(1, 100, 6)), "1 2 5 10 20 50 100");
  EXPECT_EQ(Labels(LogTicks(1e-8, 1, 4)), "1e-8 1e-6 0.0001 0.01 1");
  EXPECT_EQ(Labels(LogTicks(2, 3, 4)), "2.0 2.5 3.0");  // less than half a decade
}

TEST(TicksTest, Durations) {
  EXPECT_EQ(Labels(DurationTicks(0, 100, 4)), "0s 30s 1m 1m30s");
  EXPECT_EQ(Labels(DurationTicks(0, 7200, 4)), "0s 30m 1h 1h30m 2h");
  EXPECT_EQ(Labels(DurationTicks(0, 3 * 86400, 3)), "0s 1d 2d 3d");
  EXPECT_EQ(Labels(DurationTicks(0, 0.4, 2)), "0s 0.2s 0.4s");
}

TEST(TicksTest, ClockTimesAreRoundInLocalTime) {
  // 2026-12-03 00:00:00 UTC is 1796256000 (date -u -d 2026-12-03 +%s).
  constexpr double kMidnight = 1796256000;
  EXPECT_EQ(Labels(ClockTicks(kMidnight, kMidnight + 3600, 2, absl::UTCTimeZone())), "00:00 00:30 01:00");
  EXPECT_EQ(Labels(ClockTicks(kMidnight + 1, kMidnight + 40, 4, absl::UTCTimeZone())),
            "00:00:10 00:00:20 00:00:30 00:00:40");
  // Half past five ahead of UTC: round hours there are half hours in UTC.
  EXPECT_EQ(Labels(ClockTicks(kMidnight, kMidnight + 3 * 3600, 3, absl::FixedTimeZone(19800))), "06:00 07:00 08:00");
  EXPECT_EQ(Labels(ClockTicks(kMidnight, kMidnight + 3 * 86400, 3, absl::UTCTimeZone())),
            "Dec 03 Dec 04 Dec 05 Dec 06");
}

}  // namespace
}  // namespace ddp
