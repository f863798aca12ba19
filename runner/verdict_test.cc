#include "runner/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "common/exit_codes.h"

namespace ddp {
namespace {

using ::testing::HasSubstr;

RankRecord Exited(int code, int order) {
  RankRecord record;
  record.exit = ExitStatus{.exit_code = code};
  record.exit_order = order;
  return record;
}
RankRecord Killed(int signal, int order, bool by_us = false) {
  RankRecord record;
  record.exit = ExitStatus{.exit_code = -1, .signal = signal};
  record.exit_order = order;
  record.ended_by_us = by_us;
  return record;
}
RankRecord Finished(v1::WorkerFinished::Outcome outcome, int order, int64_t step, int64_t saved) {
  RankRecord record = Exited(0, order);
  record.finished.emplace();
  record.finished->set_outcome(outcome);
  record.finished->set_step(step);
  record.finished->set_saved_step(saved);
  return record;
}
constexpr auto kCompleted = v1::WorkerFinished::OUTCOME_COMPLETED;
constexpr auto kStopped = v1::WorkerFinished::OUTCOME_STOPPED;

TEST(VerdictTest, AllFinished) {
  const auto ended =
      Judge({Finished(kCompleted, 2, 10, 10), Finished(kCompleted, 1, 10, -1)}, StopRequest::kNone, 9, -1);
  EXPECT_EQ(ended.outcome(), v1::ATTEMPT_OUTCOME_SUCCEEDED);
  EXPECT_EQ(ended.step(), 10);
  EXPECT_EQ(ended.saved_step(), 10);
  EXPECT_FALSE(ended.has_failure());
}

TEST(VerdictTest, Stopped) {
  const auto ended = Judge({Finished(kStopped, 1, 7, 7), Finished(kStopped, 2, 7, 7)}, StopRequest::kSave, 7, 4);
  EXPECT_EQ(ended.outcome(), v1::ATTEMPT_OUTCOME_STOPPED);
  EXPECT_EQ(ended.saved_step(), 7);
}

TEST(VerdictTest, TheSignalledRankIsBlamedNotItsEchoes) {
  const auto ended =
      Judge({Exited(kExitPeerLost, 1), Exited(kExitPeerLost, 2), Killed(SIGKILL, 3), Killed(SIGKILL, 4, true)},
            StopRequest::kNone, 12, 8);
  EXPECT_EQ(ended.outcome(), v1::ATTEMPT_OUTCOME_FAILED);
  EXPECT_EQ(ended.failure().rank(), 2);
  EXPECT_EQ(ended.failure().signal(), 9);
  EXPECT_EQ(ended.failure().exit_code(), -1);
  EXPECT_EQ(ended.failure().step(), 12);
  EXPECT_TRUE(ended.failure().retryable());
  EXPECT_THAT(ended.failure().message(), HasSubstr("rank 2 was killed by signal 9 (SIGKILL)"));
  EXPECT_EQ(ended.saved_step(), 8);
}

TEST(VerdictTest, TheFirstOfTwoFailures) {
  RankRecord later = Exited(1, 2);
  RankRecord first = Exited(1, 1);
  first.failure.emplace();
  first.failure->set_message("no such column");
  first.failure->set_retryable(false);
  const auto ended = Judge({later, first}, StopRequest::kNone, 0, -1);
  EXPECT_EQ(ended.failure().rank(), 1);
  EXPECT_EQ(ended.failure().message(), "no such column");
  EXPECT_FALSE(ended.failure().retryable());
}

TEST(VerdictTest, NoRetryExitCode) {
  EXPECT_FALSE(Judge({Exited(kExitNoRetry, 1)}, StopRequest::kNone, 0, -1).failure().retryable());
}

TEST(VerdictTest, AnEchoAloneIsBlamed) {
  EXPECT_EQ(Judge({Killed(SIGKILL, 2, true), Exited(kExitPeerLost, 1)}, StopRequest::kNone, 0, -1).failure().rank(), 1);
}

TEST(VerdictTest, AStuckFailureIsBlamedBeforeItsEchoesAndAfterARealFailure) {
  RankRecord later = Killed(SIGKILL, 2, true);
  later.failure.emplace();
  later.failure->set_message("the peer left");
  later.failure_order = 2;
  RankRecord first = Killed(SIGKILL, 3, true);
  first.failure.emplace();
  first.failure->set_message("out of disk");
  first.failure_order = 1;
  EXPECT_EQ(Judge({Exited(kExitPeerLost, 1), later, first}, StopRequest::kNone, 0, -1).failure().message(),
            "out of disk");
  EXPECT_EQ(Judge({Exited(1, 1), later, first}, StopRequest::kSave, 0, -1).failure().rank(), 0);
}

TEST(VerdictTest, TheNewestStepThatWasHeardOf) {
  RankRecord record = Exited(1, 1);
  record.failure.emplace();
  record.failure->set_step(-1);  // the rank does not know
  EXPECT_EQ(Judge({record}, StopRequest::kNone, 4, -1).failure().step(), 4);
  record.failure->set_step(6);
  EXPECT_EQ(Judge({record}, StopRequest::kNone, 4, -1).failure().step(), 6);
}

TEST(VerdictTest, ExitZeroWithoutAWordIsAFailure) {
  const auto ended = Judge({Exited(0, 1), Finished(kCompleted, 2, 5, 5)}, StopRequest::kNone, 0, -1);
  EXPECT_EQ(ended.outcome(), v1::ATTEMPT_OUTCOME_FAILED);
  EXPECT_EQ(ended.failure().message(), "rank 0 ended with exit code 0 and said nothing");
}

TEST(VerdictTest, ACrashAfterTheLastWordIsNone) {
  RankRecord crashed = Finished(kCompleted, 1, 5, 5);
  crashed.exit = ExitStatus{.exit_code = -1, .signal = SIGSEGV};
  EXPECT_EQ(Judge({crashed}, StopRequest::kNone, 0, -1).outcome(), v1::ATTEMPT_OUTCOME_SUCCEEDED);
}

TEST(VerdictTest, KilledAfterTheGraceIsStopped) {
  for (const StopRequest stop : {StopRequest::kSave, StopRequest::kForce}) {
    const auto ended = Judge({Killed(SIGKILL, 1, true), Killed(SIGTERM, 2, true)}, stop, 9, 4);
    EXPECT_EQ(ended.outcome(), v1::ATTEMPT_OUTCOME_STOPPED);
    EXPECT_EQ(ended.saved_step(), 4);
  }
}

TEST(VerdictTest, AFailureWhileStoppingIsTold) {
  EXPECT_EQ(Judge({Exited(1, 1), Killed(SIGKILL, 2, true)}, StopRequest::kSave, 9, 4).outcome(),
            v1::ATTEMPT_OUTCOME_FAILED);
}

TEST(VerdictTest, RanksThatNeverLeave) {
  const auto ended = Judge({Finished(kCompleted, 1, 5, 5), Killed(SIGKILL, 2, true)}, StopRequest::kNone, 5, 5);
  EXPECT_EQ(ended.outcome(), v1::ATTEMPT_OUTCOME_FAILED);
  EXPECT_EQ(ended.failure().rank(), -1);
}

}  // namespace
}  // namespace ddp
