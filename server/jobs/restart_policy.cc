#include "server/jobs/restart_policy.h"

#include <algorithm>

namespace ddp {

bool MayRestart(const v1::Failure& failure, int failures_in_row, int max_restarts) {
  return failure.retryable() && failures_in_row <= max_restarts;
}

absl::Duration Backoff(int failures_in_row, double jitter) {
  if (failures_in_row <= 1) return absl::ZeroDuration();
  const int doublings = std::min(failures_in_row - 2, 5);
  const absl::Duration full = std::min(absl::Seconds(1 << doublings), absl::Seconds(30));
  return full * (0.8 + 0.4 * jitter);
}

}  // namespace ddp
