// When a failed attempt is followed by another one. Pure functions.
#ifndef DDP_SERVER_JOBS_RESTART_POLICY_H_
#define DDP_SERVER_JOBS_RESTART_POLICY_H_

#include "absl/time/time.h"
#include "ddp/v1/job.pb.h"

namespace ddp {

// failures_in_row: attempts that have failed since the last progress (a new checkpoint), this one included.
bool MayRestart(const v1::Failure& failure, int failures_in_row, int max_restarts);

// 0 after the first failure, then 1 s, doubling up to 30 s, each with up to 20 % more or less by jitter (0 to 1).
absl::Duration Backoff(int failures_in_row, double jitter);

}  // namespace ddp

#endif  // DDP_SERVER_JOBS_RESTART_POLICY_H_
