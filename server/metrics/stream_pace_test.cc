#include "server/metrics/stream_pace.h"

#include <gtest/gtest.h>

namespace ddp {
namespace {

constexpr absl::Duration kZero = absl::ZeroDuration();

TEST(StreamInterval, GrowsWithTheSubscribersAndShrinksWithTheMachine) {
  // 25 us a message, of 1 % of the cores and half of what is idle beyond three quarters of them: 10,000 take 0.25 s.
  EXPECT_EQ(StreamInterval(10000, 2, 0), absl::Milliseconds(12500));  // 0.25 / 0.02
  EXPECT_EQ(StreamInterval(1000, 2, 0), absl::Milliseconds(1250));    // 0.025 / 0.02
  EXPECT_EQ(StreamInterval(10000, 100, 0), absl::Milliseconds(250));  // 0.25 / 1
  EXPECT_EQ(StreamInterval(10000, 2, 1.5), absl::Milliseconds(12500));
  EXPECT_NEAR(absl::ToDoubleSeconds(StreamInterval(10000, 2, 2)), 0.25 / 0.27, 1e-9);
  EXPECT_NEAR(absl::ToDoubleSeconds(StreamInterval(10000, 2, 1.6)), 0.25 / 0.07, 1e-9);
}

TEST(StreamInterval, IsNothingForAFew) {
  for (const size_t few : {0, 1, 2, 6}) EXPECT_EQ(StreamInterval(few, 2, 0), kZero) << few;
  EXPECT_EQ(StreamInterval(7, 2, 0), absl::Microseconds(8750));  // 7 * 25 us / 0.02
  EXPECT_EQ(StreamInterval(80, 2, 2), kZero);                    // 2 ms / 0.27
}

TEST(RoundBudget, SavesUpForSomeRounds) {
  RoundBudget budget;
  const absl::Duration interval = absl::Seconds(24);
  // 60 s are saved, each round takes 24 of them and a second passes: 60 - 24 = 36, 37 - 24 = 13, 14 - 24 = -10.
  EXPECT_EQ(budget.Begin(absl::Seconds(100), interval), absl::Seconds(101));
  EXPECT_EQ(budget.Begin(absl::Seconds(101), interval), absl::Seconds(102));
  EXPECT_EQ(budget.Begin(absl::Seconds(102), interval), absl::Seconds(112));
  EXPECT_EQ(budget.Begin(absl::Seconds(112), interval), absl::Seconds(136));
  EXPECT_EQ(budget.Begin(absl::Seconds(136), interval), absl::Seconds(160));
  // After 24 more seconds without a round 24 are saved; never more than 60.
  EXPECT_EQ(budget.Begin(absl::Seconds(184), interval), absl::Seconds(185));
  EXPECT_EQ(budget.Begin(absl::Seconds(1000), absl::Seconds(90)), absl::Seconds(1030));
}

TEST(RoundBudget, DoesNotHoldBackWhoCostsNothing) {
  RoundBudget budget;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(budget.Begin(absl::Milliseconds(i), kZero), absl::Milliseconds(i));
  // A short interval is kept from the beginning.
  EXPECT_EQ(budget.Begin(absl::Seconds(5), absl::Milliseconds(50)), absl::Milliseconds(5050));
}

TEST(ParseCpuTicks, IdleAndWaitingForDisksIsIdle) {
  const auto ticks = ParseCpuTicks("cpu  10 20 30 400 50 6 7 8 9 1\ncpu0 5 10 15 200 25 3 3 4 4 0\n");
  ASSERT_TRUE(ticks.has_value());
  EXPECT_EQ(ticks->idle, 450u);
  EXPECT_EQ(ticks->all, 531u);  // without guests, whose time is in user and nice
  EXPECT_FALSE(ParseCpuTicks("").has_value());
  EXPECT_FALSE(ParseCpuTicks("cpu  10 20 30").has_value());
}

TEST(StreamPace, OfThisMachine) {
  StreamPace pace;
  EXPECT_EQ(pace.Interval(1), kZero);
  EXPECT_GT(pace.Interval(100'000'000), kZero);
}

}  // namespace
}  // namespace ddp
