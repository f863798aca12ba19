#include "server/jobs/attempt_end.h"

#include "absl/strings/str_cat.h"
#include "server/jobs/restart_policy.h"

namespace ddp {

namespace {

std::string StoppedText(const v1::AttemptEnded& ended) {
  return ended.saved_step() >= 0 ? absl::StrCat("stopped; saved at step ", ended.saved_step())
                                 : "stopped before anything was saved";
}

// Whoever stopped it may do so again, at once and for ever: to the budget it is a crash.
v1::Failure StoppedUnasked(const v1::AttemptEnded& ended) {
  v1::Failure failure;
  failure.set_rank(-1);
  failure.set_message(absl::StrCat("nobody asked for it, but the attempt ", StoppedText(ended),
                                   " (somebody may have sent SIGTERM to its processes)"));
  failure.set_step(ended.step());
  failure.set_retryable(true);
  return failure;
}

}  // namespace

AttemptEnd DecideAttemptEnd(const v1::AttemptEnded& ended, v1::JobState state, int failures_in_row, int max_restarts) {
  if (ended.outcome() == v1::ATTEMPT_OUTCOME_SUCCEEDED) {
    return {JobTrigger::kSucceeded, 0, std::nullopt, absl::StrCat("trained to the end, ", ended.step(), " steps")};
  }
  const bool stopped = ended.outcome() == v1::ATTEMPT_OUTCOME_STOPPED;
  if (stopped && (state == v1::JOB_STATE_PAUSING || state == v1::JOB_STATE_CANCELLING)) {
    return {JobTrigger::kStopped, failures_in_row, std::nullopt, StoppedText(ended)};
  }
  AttemptEnd end{JobTrigger::kFailedFinal, failures_in_row + 1, stopped ? StoppedUnasked(ended) : ended.failure(), {}};
  if (MayRestart(*end.failure, end.failures_in_row, max_restarts)) end.trigger = JobTrigger::kFailedRetry;
  end.reason = end.failure->message();
  if (end.trigger == JobTrigger::kFailedFinal && end.failure->retryable()) {
    absl::StrAppend(&end.reason, "; no restart is left of ", max_restarts);
  }
  return end;
}

}  // namespace ddp
