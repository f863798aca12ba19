#include "server/manager/watch_all.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "server/manager/testing.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;

class WatchAllTest : public ::testing::Test {
 protected:
  void Watch() {
    watch_ = rig_.manager->WatchAll([this] { ++wakes_; });
  }
  // Everything there is now, merged.
  std::vector<v1::WatchJobsResponse> Drain() {
    std::vector<v1::WatchJobsResponse> all;
    for (v1::WatchJobsResponse update; *watch_->Next(update) == StreamStep::kItem;) all.push_back(update);
    return all;
  }
  v1::RunnerEvent Progress(uint64_t seq, int64_t step) {
    v1::RunnerEvent event = Rig::Event(seq);
    event.mutable_from_rank()->mutable_event()->mutable_progress()->set_step(step);
    return event;
  }

  Rig rig_{1};
  std::unique_ptr<JobsSubscription> watch_;
  int wakes_ = 0;
};

TEST_F(WatchAllTest, AListThatIsEmptyIsComplete) {
  Watch();
  const auto all = Drain();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].jobs_size(), 0);
  EXPECT_TRUE(all[0].complete());
}

TEST_F(WatchAllTest, AllThenNewChangedAndDeletedOnes) {
  const std::string first = rig_.Submit(1);
  Watch();
  auto all = Drain();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].jobs(0).id(), first);
  EXPECT_EQ(all[0].jobs(0).state(), v1::JOB_STATE_STARTING);
  EXPECT_EQ(all[0].jobs(0).attempts_size(), 1);

  rig_.clock.now += absl::Seconds(1);
  const std::string second = rig_.Submit(1);
  EXPECT_GT(wakes_, 0);
  all = Drain();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_FALSE(all[0].complete());
  ASSERT_EQ(all[0].jobs_size(), 1);
  EXPECT_EQ(all[0].jobs(0).id(), second);
  EXPECT_EQ(all[0].jobs(0).state(), v1::JOB_STATE_QUEUED);

  ASSERT_TRUE(rig_.manager->Cancel(second, false).ok());
  ASSERT_TRUE(rig_.manager->Delete(second).ok());
  all = Drain();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].jobs_size(), 0);
  EXPECT_THAT(all[0].deleted(), ElementsAre(second));
}

TEST_F(WatchAllTest, WhoAsksSeldomGetsTheNewestStateOnce) {
  const std::string id = rig_.Submit(1);
  Watch();
  Drain();
  ASSERT_TRUE(rig_.manager->Attach(rig_.Hello(id), std::make_shared<FakeSession>()).ok());
  ASSERT_TRUE(rig_.manager->HandleEvent(rig_.Hello(id), Rig::FirstStep(1)).ok());
  for (uint64_t seq = 2; seq <= 100; ++seq) {
    rig_.clock.now += absl::Seconds(1);
    ASSERT_TRUE(rig_.manager->HandleEvent(rig_.Hello(id), Progress(seq, static_cast<int64_t>(seq))).ok());
  }
  const auto all = Drain();
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(all[0].jobs_size(), 1);
  EXPECT_EQ(all[0].jobs(0).progress().step(), 100);
}

TEST_F(WatchAllTest, ProgressAtMostTwiceASecondAndTheLastIsNotLost) {
  const std::string id = rig_.Submit(1);
  ASSERT_TRUE(rig_.manager->Attach(rig_.Hello(id), std::make_shared<FakeSession>()).ok());
  ASSERT_TRUE(rig_.manager->HandleEvent(rig_.Hello(id), Rig::FirstStep(1)).ok());
  Watch();
  Drain();
  int64_t last = 0;
  int updates = 0;
  const auto take = [&] {
    for (const auto& update : Drain()) {
      for (const v1::Job& job : update.jobs()) last = job.progress().step();
      ++updates;
    }
  };
  for (uint64_t seq = 2; seq <= 31; ++seq) {  // 3 seconds of 10 a second
    rig_.clock.now += absl::Milliseconds(100);
    ASSERT_TRUE(rig_.manager->HandleEvent(rig_.Hello(id), Progress(seq, static_cast<int64_t>(seq))).ok());
    take();
  }
  EXPECT_EQ(updates, 6);
  ASSERT_TRUE(rig_.manager->HandleEvent(rig_.Hello(id), Progress(32, 32)).ok());
  take();
  EXPECT_EQ(last, 31);
  rig_.clock.now += absl::Milliseconds(500);
  rig_.manager->Poll();
  take();
  EXPECT_EQ(last, 32);
  // A change of state is told at once.
  ASSERT_TRUE(rig_.manager->HandleEvent(rig_.Hello(id), Progress(33, 33)).ok());
  ASSERT_TRUE(rig_.manager->Cancel(id, false).ok());
  const auto all = Drain();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].jobs(0).state(), v1::JOB_STATE_CANCELLING);
  EXPECT_EQ(all[0].jobs(0).progress().step(), 33);
}

TEST_F(WatchAllTest, ManyJobsComeInSeveralMessagesEachOnce) {
  std::vector<std::string> ids;
  for (int i = 0; i < 40; ++i) {
    v1::SubmitJobRequest request = Rig::Request(1);
    // Some 19 kB each, so 13 or 14 of them make a message.
    for (int tag = 0; tag < 32; ++tag) request.mutable_spec()->add_tags(std::string(60, 't'));
    (*request.mutable_spec()->mutable_training()->mutable_model()->mutable_options())["x"] = std::string(17000, 'y');
    rig_.clock.now += absl::Seconds(1);
    const SubmitResult result = rig_.manager->Submit(request);
    ASSERT_TRUE(result.status.ok()) << result.status;
    ids.push_back(result.response.job().id());
  }
  Watch();
  std::vector<std::string> seen;
  std::vector<std::string> changed;
  int messages = 0;
  bool complete = false;
  for (v1::WatchJobsResponse update; *watch_->Next(update) == StreamStep::kItem; ++messages) {
    EXPECT_LT(update.ByteSizeLong(), size_t{1} << 20);
    for (const v1::Job& job : update.jobs()) (complete ? changed : seen).push_back(job.id());
    // What has been sent and changes comes again after the list; what has not, comes with it.
    if (messages == 0) {
      ASSERT_TRUE(rig_.manager->Cancel(ids.back(), false).ok());
      ASSERT_TRUE(rig_.manager->Cancel(ids[1], false).ok());
    }
    complete |= update.complete();
  }
  EXPECT_TRUE(complete);
  EXPECT_GE(messages, 4);
  EXPECT_EQ(seen, std::vector<std::string>(ids.rbegin(), ids.rend()));
  EXPECT_THAT(changed, ElementsAre(ids.back()));
}

TEST_F(WatchAllTest, OnlyTheNewestAttemptAndNoLogTails) {
  const std::string id = rig_.Submit(1);
  v1::RunnerEvent ended = Rig::Ended(1, v1::ATTEMPT_OUTCOME_FAILED, 3, -1);
  ended.mutable_ended()->mutable_failure()->set_log_tail("line\n");
  ASSERT_TRUE(rig_.manager->Attach(rig_.Hello(id), std::make_shared<FakeSession>()).ok());
  ASSERT_TRUE(rig_.manager->HandleEvent(rig_.Hello(id), ended).ok());
  rig_.End(id);  // the first retry comes at once
  Watch();
  const v1::Job job = Drain().at(0).jobs(0);
  EXPECT_EQ(job.failure().message(), "boom");
  EXPECT_EQ(job.failure().log_tail(), "");
  ASSERT_EQ(job.attempts_size(), 1);
  EXPECT_EQ(job.attempts(0).number(), 2);
  EXPECT_EQ(rig_.Job(id).attempts_size(), 2);
}

TEST_F(WatchAllTest, WhoHasLeftIsNotWoken) {
  Watch();
  Drain();
  watch_.reset();
  rig_.Submit(1);
  EXPECT_EQ(wakes_, 0);
}

}  // namespace
}  // namespace ddp
