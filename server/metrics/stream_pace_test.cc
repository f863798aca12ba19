#include "server/metrics/stream_pace.h"

#include <gtest/gtest.h>

namespace ddp {
namespace {

constexpr absl::Duration kZero = absl::ZeroDuration();

TEST(StreamInterval, GrowsWithTheSubscribersAndShrinksWithTheMachine) {
  // 15 us a message, of 1 % of the cores and half of the idle ones: 10,000 messages take 0.15 s.
  EXPECT_EQ(StreamInterval(10000, 2, 0), absl::Milliseconds(7500));   // 0.15 / 0.02
  EXPECT_EQ(StreamInterval(1000, 2, 0), absl::Milliseconds(750));     // 0.015 / 0.02
  EXPECT_EQ(StreamInterval(10000, 100, 0), absl::Milliseconds(150));  // 0.15 / 1
  EXPECT_NEAR(absl::ToDoubleSeconds(StreamInterval(10000, 2, 2)), 0.15 / 1.02, 1e-9);
  EXPECT_NEAR(absl::ToDoubleSeconds(StreamInterval(10000, 2, 0.5)), 0.15 / 0.27, 1e-9);
}

TEST(StreamInterval, IsNothingForAFew) {
  for (const size_t few : {0, 1, 2, 10}) EXPECT_EQ(StreamInterval(few, 2, 0), kZero) << few;
  EXPECT_EQ(StreamInterval(11, 2, 0), absl::Microseconds(8250));  // 11 * 15 us / 0.02
  EXPECT_EQ(StreamInterval(500, 2, 2), kZero);                    // 7.5 ms / 1.02
}

TEST(RoundBudget, SavesUpForSomeRounds) {
  RoundBudget budget;
  const absl::Duration interval = absl::Seconds(8);
  // 20 s are saved, each round takes 8 of them and a second passes: 20 - 8 = 12, 13 - 8 = 5, 6 - 8 = -2.
  EXPECT_EQ(budget.Begin(absl::Seconds(100), interval), absl::Seconds(101));
  EXPECT_EQ(budget.Begin(absl::Seconds(101), interval), absl::Seconds(102));
  EXPECT_EQ(budget.Begin(absl::Seconds(102), interval), absl::Seconds(104));
  EXPECT_EQ(budget.Begin(absl::Seconds(104), interval), absl::Seconds(112));
  EXPECT_EQ(budget.Begin(absl::Seconds(112), interval), absl::Seconds(120));
  // After 8 more seconds without a round 8 are saved; never more than 20.
  EXPECT_EQ(budget.Begin(absl::Seconds(128), interval), absl::Seconds(129));
  EXPECT_EQ(budget.Begin(absl::Seconds(1000), absl::Seconds(30)), absl::Seconds(1010));
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
