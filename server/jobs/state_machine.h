// The states of a job. One table; everything else calls it.
#ifndef DDP_SERVER_JOBS_STATE_MACHINE_H_
#define DDP_SERVER_JOBS_STATE_MACHINE_H_

#include <optional>

#include "ddp/v1/job.pb.h"
#include "proto/job_state.h"

namespace ddp {

enum class JobTrigger {
  kPlaced,       // got its slots
  kFirstStep,    // an attempt has taken its first step
  kSucceeded,    // an attempt trained to the end
  kFailedRetry,  // an attempt failed, or stopped unasked, and may be tried again
  kFailedFinal,  // an attempt failed, for good
  kRetryDue,     // the back-off has passed
  kCancelRequested,
  kPauseRequested,
  kStopped,  // an attempt stopped, as it was asked to
  kResumeRequested,
};

// The next state; unset: this cannot happen, or must be refused, in this state.
std::optional<v1::JobState> Next(v1::JobState state, JobTrigger trigger);

// The job's slots are taken.
bool HoldsSlots(v1::JobState state);
// An attempt is alive.
bool HasAttempt(v1::JobState state);

}  // namespace ddp

#endif  // DDP_SERVER_JOBS_STATE_MACHINE_H_
