#include "server/jobs/state_machine.h"

#include <gtest/gtest.h>

#include <map>

namespace ddp {
namespace {

using T = JobTrigger;

// The whole table by hand; what is not here must be refused.
const std::map<v1::JobState, std::map<T, v1::JobState>> kTable{
    {v1::JOB_STATE_QUEUED,
     {{T::kPlaced, v1::JOB_STATE_STARTING},
      {T::kFailedFinal, v1::JOB_STATE_FAILED},
      {T::kCancelRequested, v1::JOB_STATE_CANCELLED},
      {T::kPauseRequested, v1::JOB_STATE_PAUSED}}},
    {v1::JOB_STATE_STARTING,
     {{T::kFirstStep, v1::JOB_STATE_RUNNING},
      {T::kSucceeded, v1::JOB_STATE_SUCCEEDED},
      {T::kFailedRetry, v1::JOB_STATE_RESTARTING},
      {T::kFailedFinal, v1::JOB_STATE_FAILED},
      {T::kCancelRequested, v1::JOB_STATE_CANCELLING},
      {T::kPauseRequested, v1::JOB_STATE_PAUSING}}},
    {v1::JOB_STATE_RUNNING,
     {{T::kSucceeded, v1::JOB_STATE_SUCCEEDED},
      {T::kFailedRetry, v1::JOB_STATE_RESTARTING},
      {T::kFailedFinal, v1::JOB_STATE_FAILED},
      {T::kCancelRequested, v1::JOB_STATE_CANCELLING},
      {T::kPauseRequested, v1::JOB_STATE_PAUSING}}},
    {v1::JOB_STATE_RESTARTING,
     {{T::kRetryDue, v1::JOB_STATE_STARTING},
      {T::kFailedFinal, v1::JOB_STATE_FAILED},
      {T::kCancelRequested, v1::JOB_STATE_CANCELLED},
      {T::kPauseRequested, v1::JOB_STATE_PAUSED}}},
    {v1::JOB_STATE_PAUSING,
     {{T::kSucceeded, v1::JOB_STATE_SUCCEEDED},
      {T::kFailedRetry, v1::JOB_STATE_PAUSED},
      {T::kFailedFinal, v1::JOB_STATE_FAILED},
      {T::kStopped, v1::JOB_STATE_PAUSED},
      {T::kCancelRequested, v1::JOB_STATE_CANCELLING},
      {T::kPauseRequested, v1::JOB_STATE_PAUSING}}},
    {v1::JOB_STATE_CANCELLING,
     {{T::kSucceeded, v1::JOB_STATE_SUCCEEDED},
      {T::kFailedRetry, v1::JOB_STATE_CANCELLED},
      {T::kFailedFinal, v1::JOB_STATE_CANCELLED},
      {T::kStopped, v1::JOB_STATE_CANCELLED},
      {T::kCancelRequested, v1::JOB_STATE_CANCELLING}}},
    {v1::JOB_STATE_PAUSED,
     {{T::kResumeRequested, v1::JOB_STATE_QUEUED},
      {T::kCancelRequested, v1::JOB_STATE_CANCELLED},
      {T::kPauseRequested, v1::JOB_STATE_PAUSED}}},
    {v1::JOB_STATE_CANCELLED,
     {{T::kResumeRequested, v1::JOB_STATE_QUEUED}, {T::kCancelRequested, v1::JOB_STATE_CANCELLED}}},
    {v1::JOB_STATE_FAILED, {{T::kResumeRequested, v1::JOB_STATE_QUEUED}}},
    {v1::JOB_STATE_SUCCEEDED, {}},
    {v1::JOB_STATE_UNSPECIFIED, {}},
};
constexpr T kTriggers[] = {T::kPlaced,   T::kFirstStep,       T::kSucceeded,      T::kFailedRetry, T::kFailedFinal,
                           T::kRetryDue, T::kCancelRequested, T::kPauseRequested, T::kStopped,     T::kResumeRequested};

TEST(StateMachineTest, EveryCell) {
  ASSERT_EQ(kTable.size(), static_cast<size_t>(v1::JobState_descriptor()->value_count()));
  for (const auto& [state, row] : kTable) {
    for (const T trigger : kTriggers) {
      const auto right = row.find(trigger);
      const auto got = Next(state, trigger);
      EXPECT_EQ(got.has_value(), right != row.end()) << StateName(state) << " " << static_cast<int>(trigger);
      if (got && right != row.end()) {
        EXPECT_EQ(*got, right->second) << StateName(state) << " " << static_cast<int>(trigger);
      }
    }
  }
}

TEST(StateMachineTest, EndedJobsHoldNothing) {
  for (const auto& [state, row] : kTable) {
    if (IsEnded(state)) {
      EXPECT_FALSE(HoldsSlots(state));
      EXPECT_FALSE(HasAttempt(state));
    }
    EXPECT_TRUE(HoldsSlots(state) || !HasAttempt(state));
  }
  EXPECT_TRUE(HoldsSlots(v1::JOB_STATE_RESTARTING));
  EXPECT_FALSE(HoldsSlots(v1::JOB_STATE_QUEUED));
  EXPECT_EQ(StateName(v1::JOB_STATE_RUNNING), "RUNNING");
}

}  // namespace
}  // namespace ddp
