#include "server/jobs/attempt_end.h"

#include <gtest/gtest.h>

namespace ddp {
namespace {

using T = JobTrigger;
constexpr v1::AttemptOutcome kSucceeded = v1::ATTEMPT_OUTCOME_SUCCEEDED;
constexpr v1::AttemptOutcome kStopped = v1::ATTEMPT_OUTCOME_STOPPED;
constexpr v1::AttemptOutcome kFailed = v1::ATTEMPT_OUTCOME_FAILED;
constexpr v1::AttemptOutcome kLost = v1::ATTEMPT_OUTCOME_LOST;

struct Row {
  v1::AttemptOutcome outcome;
  bool retryable;
  v1::JobState state;
  int failures;  // before
  T trigger;
  int failures_after;
};

// max_restarts is 3.
constexpr Row kTable[] = {
    {kSucceeded, false, v1::JOB_STATE_RUNNING, 2, T::kSucceeded, 0},
    {kSucceeded, false, v1::JOB_STATE_PAUSING, 3, T::kSucceeded, 0},
    {kStopped, false, v1::JOB_STATE_PAUSING, 0, T::kStopped, 0},
    {kStopped, false, v1::JOB_STATE_CANCELLING, 3, T::kStopped, 3},
    // Nobody asked: a crash to the budget.
    {kStopped, false, v1::JOB_STATE_STARTING, 0, T::kFailedRetry, 1},
    {kStopped, false, v1::JOB_STATE_RUNNING, 0, T::kFailedRetry, 1},
    {kStopped, false, v1::JOB_STATE_RUNNING, 2, T::kFailedRetry, 3},
    {kStopped, false, v1::JOB_STATE_RUNNING, 3, T::kFailedFinal, 4},
    {kFailed, true, v1::JOB_STATE_RUNNING, 0, T::kFailedRetry, 1},
    {kFailed, true, v1::JOB_STATE_RUNNING, 3, T::kFailedFinal, 4},
    {kFailed, false, v1::JOB_STATE_RUNNING, 0, T::kFailedFinal, 1},
    {kFailed, true, v1::JOB_STATE_PAUSING, 0, T::kFailedRetry, 1},
    {kLost, true, v1::JOB_STATE_STARTING, 0, T::kFailedRetry, 1},
    {kLost, true, v1::JOB_STATE_CANCELLING, 3, T::kFailedFinal, 4},
};

v1::AttemptEnded Ended(v1::AttemptOutcome outcome, bool retryable) {
  v1::AttemptEnded ended;
  ended.set_outcome(outcome);
  ended.set_step(9);
  ended.set_saved_step(8);
  if (outcome == kFailed || outcome == kLost) {
    ended.mutable_failure()->set_message("boom");
    ended.mutable_failure()->set_retryable(retryable);
  }
  return ended;
}

TEST(AttemptEndTest, EveryOutcome) {
  for (const Row& row : kTable) {
    const AttemptEnd end = DecideAttemptEnd(Ended(row.outcome, row.retryable), row.state, row.failures, 3);
    const std::string where = StateName(row.state) + " outcome " + std::to_string(row.outcome) + " after " +
                              std::to_string(row.failures) + " failures";
    EXPECT_EQ(end.trigger, row.trigger) << where;
    EXPECT_EQ(end.failures_in_row, row.failures_after) << where;
    EXPECT_EQ(end.failure.has_value(), row.trigger == T::kFailedRetry || row.trigger == T::kFailedFinal) << where;
    // Every decision is one that the job's state can take.
    EXPECT_TRUE(Next(row.state, end.trigger).has_value()) << where;
  }
}

TEST(AttemptEndTest, Reasons) {
  const auto reason = [](const v1::AttemptEnded& ended, v1::JobState state, int failures) {
    return DecideAttemptEnd(ended, state, failures, 3).reason;
  };
  EXPECT_EQ(reason(Ended(kSucceeded, false), v1::JOB_STATE_RUNNING, 0), "trained to the end, 9 steps");
  EXPECT_EQ(reason(Ended(kStopped, false), v1::JOB_STATE_PAUSING, 0), "stopped; saved at step 8");
  v1::AttemptEnded unsaved = Ended(kStopped, false);
  unsaved.set_saved_step(-1);
  EXPECT_EQ(reason(unsaved, v1::JOB_STATE_CANCELLING, 0), "stopped before anything was saved");
  const std::string unasked =
      "nobody asked for it, but the attempt stopped; saved at step 8 (somebody may have sent SIGTERM to its processes)";
  EXPECT_EQ(reason(Ended(kStopped, false), v1::JOB_STATE_RUNNING, 0), unasked);
  EXPECT_EQ(reason(Ended(kStopped, false), v1::JOB_STATE_RUNNING, 3), unasked + "; no restart is left of 3");
  EXPECT_EQ(reason(Ended(kFailed, true), v1::JOB_STATE_RUNNING, 0), "boom");
  EXPECT_EQ(reason(Ended(kFailed, true), v1::JOB_STATE_RUNNING, 3), "boom; no restart is left of 3");
  EXPECT_EQ(reason(Ended(kFailed, false), v1::JOB_STATE_RUNNING, 0), "boom");
}

}  // namespace
}  // namespace ddp
