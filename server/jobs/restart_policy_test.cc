#include "server/jobs/restart_policy.h"

#include <gtest/gtest.h>

namespace ddp {
namespace {

TEST(RestartPolicyTest, Budget) {
  v1::Failure failure;
  failure.set_retryable(true);
  EXPECT_FALSE(MayRestart(failure, 1, 0));
  EXPECT_TRUE(MayRestart(failure, 3, 3));
  EXPECT_FALSE(MayRestart(failure, 4, 3));
  failure.set_retryable(false);
  EXPECT_FALSE(MayRestart(failure, 1, 3));
}

TEST(RestartPolicyTest, Backoff) {
  EXPECT_EQ(Backoff(1, 0.5), absl::ZeroDuration());
  const double right[] = {1, 2, 4, 8, 16, 30, 30, 30};
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(Backoff(i + 2, 0.5), absl::Seconds(right[i]));
    EXPECT_EQ(absl::ToDoubleSeconds(Backoff(i + 2, 0)), 0.8 * right[i]);
    EXPECT_EQ(absl::ToDoubleSeconds(Backoff(i + 2, 1)), 1.2 * right[i]);
  }
  EXPECT_EQ(Backoff(1000000, 0.5), absl::Seconds(30));
}

}  // namespace
}  // namespace ddp
