#include "server/jobs/state_machine.h"

namespace ddp {

std::optional<v1::JobState> Next(v1::JobState state, JobTrigger trigger) {
  using T = JobTrigger;
  switch (state) {
    case v1::JOB_STATE_QUEUED:
      if (trigger == T::kPlaced) return v1::JOB_STATE_STARTING;
      if (trigger == T::kCancelRequested) return v1::JOB_STATE_CANCELLED;
      if (trigger == T::kPauseRequested) return v1::JOB_STATE_PAUSED;
      // Never placed again: what it needs cannot be had (its parent's checkpoint is gone, the machine has shrunk).
      if (trigger == T::kFailedFinal) return v1::JOB_STATE_FAILED;
      return {};
    case v1::JOB_STATE_STARTING:
    case v1::JOB_STATE_RUNNING:
      if (trigger == T::kFirstStep && state == v1::JOB_STATE_STARTING) return v1::JOB_STATE_RUNNING;
      if (trigger == T::kSucceeded) return v1::JOB_STATE_SUCCEEDED;
      if (trigger == T::kFailedRetry) return v1::JOB_STATE_RESTARTING;
      if (trigger == T::kFailedFinal) return v1::JOB_STATE_FAILED;
      if (trigger == T::kCancelRequested) return v1::JOB_STATE_CANCELLING;
      if (trigger == T::kPauseRequested) return v1::JOB_STATE_PAUSING;
      return {};
    case v1::JOB_STATE_RESTARTING:
      if (trigger == T::kRetryDue) return v1::JOB_STATE_STARTING;
      if (trigger == T::kFailedFinal) return v1::JOB_STATE_FAILED;
      if (trigger == T::kCancelRequested) return v1::JOB_STATE_CANCELLED;
      if (trigger == T::kPauseRequested) return v1::JOB_STATE_PAUSED;
      return {};
    case v1::JOB_STATE_PAUSING:
      if (trigger == T::kPauseRequested) return v1::JOB_STATE_PAUSING;
      if (trigger == T::kCancelRequested) return v1::JOB_STATE_CANCELLING;
      if (trigger == T::kSucceeded) return v1::JOB_STATE_SUCCEEDED;
      if (trigger == T::kStopped || trigger == T::kFailedRetry) return v1::JOB_STATE_PAUSED;
      if (trigger == T::kFailedFinal) return v1::JOB_STATE_FAILED;
      return {};
    case v1::JOB_STATE_CANCELLING:
      if (trigger == T::kCancelRequested) return v1::JOB_STATE_CANCELLING;
      if (trigger == T::kSucceeded) return v1::JOB_STATE_SUCCEEDED;
      if (trigger == T::kStopped || trigger == T::kFailedRetry || trigger == T::kFailedFinal) {
        return v1::JOB_STATE_CANCELLED;
      }
      return {};
    case v1::JOB_STATE_PAUSED:
      if (trigger == T::kResumeRequested) return v1::JOB_STATE_QUEUED;
      if (trigger == T::kCancelRequested) return v1::JOB_STATE_CANCELLED;
      if (trigger == T::kPauseRequested) return v1::JOB_STATE_PAUSED;
      return {};
    case v1::JOB_STATE_CANCELLED:
      if (trigger == T::kResumeRequested) return v1::JOB_STATE_QUEUED;
      if (trigger == T::kCancelRequested) return v1::JOB_STATE_CANCELLED;
      return {};
    case v1::JOB_STATE_FAILED:
      if (trigger == T::kResumeRequested) return v1::JOB_STATE_QUEUED;
      return {};
    default:
      return {};
  }
}

bool HoldsSlots(v1::JobState state) { return HasAttempt(state) || state == v1::JOB_STATE_RESTARTING; }

bool HasAttempt(v1::JobState state) {
  return state == v1::JOB_STATE_STARTING || state == v1::JOB_STATE_RUNNING || state == v1::JOB_STATE_PAUSING ||
         state == v1::JOB_STATE_CANCELLING;
}

}  // namespace ddp
