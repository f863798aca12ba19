#include "common/clock.h"

#include <gtest/gtest.h>

#include <ctime>

namespace ddp {
namespace {

TEST(Clock, NowIsTheWallClock) {
  const int64_t before = time(nullptr);
  const int64_t now = absl::ToUnixSeconds(Clock::System().Now());
  EXPECT_GE(now, before);
  EXPECT_LE(now, time(nullptr));
}

TEST(Clock, MonotonicNeverGoesBack) {
  absl::Duration last = Clock::System().Monotonic();
  for (int i = 0; i < 1000; ++i) {
    const absl::Duration next = Clock::System().Monotonic();
    ASSERT_GE(next, last);
    last = next;
  }
}

}  // namespace
}  // namespace ddp
