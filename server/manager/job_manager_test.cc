#include "server/manager/job_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "server/manager/testing.h"
#include "server/manager/watch.h"
#include "server/metrics/histograms.h"
#include "server/metrics/query.h"
#include "server/telemetry.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

void Play(Rig& rig, const std::string& id, const std::vector<v1::RunnerEvent>& events,
          std::shared_ptr<FakeSession> session = std::make_shared<FakeSession>()) {
  ASSERT_TRUE(rig.manager->Attach(rig.Hello(id), session).ok());
  for (const v1::RunnerEvent& event : events) {
    const absl::Status status = rig.manager->HandleEvent(rig.Hello(id), event);
    ASSERT_TRUE(status.ok()) << status;
  }
}

absl::StatusOr<v1::Job> Resume(Rig& rig, const std::string& id, std::optional<int> nproc = {},
                               std::vector<v1::FieldViolation>* violations = nullptr) {
  v1::ResumeJobRequest request;
  request.set_id(id);
  if (nproc) request.set_nproc(*nproc);
  std::vector<v1::FieldViolation> unread;
  return rig.manager->Resume(request, violations == nullptr ? &unread : violations);
}

TEST(JobManagerTest, SubmitRunSucceed) {
  Rig rig;
  const std::string id = rig.Submit();
  EXPECT_EQ(rig.State(id), v1::JOB_STATE_STARTING);
  ASSERT_EQ(rig.launcher.launches.size(), 1u);
  const v1::Launch& launch = rig.launcher.launches[0];
  EXPECT_EQ(launch.attempt_dir(), rig.home + "/jobs/" + id + "/attempts/1");
  EXPECT_EQ(launch.checkpoint_dir(), rig.home + "/jobs/" + id + "/checkpoints");
  EXPECT_EQ(launch.threads_per_rank(), 1);
  EXPECT_EQ(launch.spec().training().lr(), 1e-3);
  Play(rig, id, {Rig::FirstStep(1), Rig::Saved(2, 5), Rig::Ended(3, v1::ATTEMPT_OUTCOME_SUCCEEDED, 5, 5)});
  // The runner has said its last word, but its processes are still there.
  rig.manager->Poll();
  EXPECT_EQ(rig.State(id), v1::JOB_STATE_RUNNING);
  rig.End(id);
  const v1::Job job = rig.Job(id);
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(job.checkpoint_step(), 5);
  EXPECT_EQ(job.attempts(0).last_step(), 5);
  EXPECT_TRUE(job.has_end_time());
}

TEST(JobManagerTest, ProgressBeforeTheFirstStepIsThatOfAValidation) {
  Rig rig;
  const std::string id = rig.Submit();
  v1::RunnerEvent trained = Rig::Event(2);
  v1::Progress& progress = *trained.mutable_from_rank()->mutable_event()->mutable_progress();
  progress.set_step(5);
  progress.set_loss(0.5);
  progress.set_lr(0.01);
  v1::RunnerEvent validated = Rig::Event(3);
  validated.mutable_from_rank()->mutable_event()->mutable_progress()->set_valid_loss(0.25);
  Play(rig, id, {Rig::FirstStep(1), trained, validated});
  EXPECT_EQ(rig.Job(id).progress().step(), 5);
  EXPECT_EQ(rig.Job(id).progress().loss(), 0.5);
  EXPECT_EQ(rig.Job(id).progress().lr(), 0.01);
  EXPECT_EQ(rig.Job(id).progress().valid_loss(), 0.25);
}

TEST(JobManagerTest, FailuresUseUpTheBudgetUnlessThereIsProgress) {
  Rig rig;
  const std::string id = rig.Submit();
  const auto fail = [&](bool with_progress) {
    std::vector<v1::RunnerEvent> events{Rig::FirstStep(1)};
    if (with_progress) events.push_back(Rig::Saved(2, 7));
    events.push_back(Rig::Ended(events.size() + 1, v1::ATTEMPT_OUTCOME_FAILED, 9, -1));
    Play(rig, id, events);
    rig.End(id);
  };
  fail(false);
  EXPECT_EQ(rig.State(id), v1::JOB_STATE_STARTING);  // at once: the first back-off is 0
  fail(false);
  EXPECT_EQ(rig.State(id), v1::JOB_STATE_RESTARTING);
  rig.clock.now += absl::Milliseconds(1201);  // at most 1 s + 20 %
  rig.manager->Poll();
  EXPECT_EQ(rig.State(id), v1::JOB_STATE_STARTING);
  fail(true);  // progress: counts from 1 again
  EXPECT_EQ(rig.State(id), v1::JOB_STATE_STARTING);
  EXPECT_EQ(rig.Job(id).attempts(3).start_step(), 7);
  for (int i = 0; i < 3; ++i) {
    fail(false);
    rig.clock.now += absl::Seconds(60);
    rig.manager->Poll();
  }
  const v1::Job job = rig.Job(id);
  EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job.restarts(), 5);
  EXPECT_EQ(job.attempts_size(), 6);
  EXPECT_EQ(job.failure().message(), "boom");
}

TEST(JobManagerTest, AnAttemptThatStopsUnaskedUsesUpTheBudget) {
  Rig rig;
  const std::string id = rig.Submit();
  const auto stop = [&](int64_t step) {
    Play(rig, id, {Rig::FirstStep(1), Rig::Saved(2, step), Rig::Ended(3, v1::ATTEMPT_OUTCOME_STOPPED, step, step)});
    rig.End(id);
  };
  stop(5);
  EXPECT_EQ(rig.State(id), v1::JOB_STATE_STARTING);  // at once: the first back-off is 0
  EXPECT_EQ(rig.Job(id).restarts(), 1);
  EXPECT_EQ(rig.Job(id).attempts(0).outcome(), v1::ATTEMPT_OUTCOME_STOPPED);
  EXPECT_THAT(rig.Job(id).failure().message(), HasSubstr("nobody asked for it, but the attempt stopped"));
  stop(5);  // saved again what it had begun with
  EXPECT_EQ(rig.State(id), v1::JOB_STATE_RESTARTING);
  EXPECT_THAT(rig.Job(id).state_reason(), HasSubstr("nobody asked for it"));
  rig.clock.now += absl::Milliseconds(799);  // 1 s - 20 % at least
  rig.manager->Poll();
  EXPECT_EQ(rig.State(id), v1::JOB_STATE_RESTARTING);
  rig.clock.now += absl::Milliseconds(402);  // and 1 s + 20 % at most
  rig.manager->Poll();
  EXPECT_EQ(rig.State(id), v1::JOB_STATE_STARTING);
  stop(6);  // progress: counts from 1 again
  EXPECT_EQ(rig.State(id), v1::JOB_STATE_STARTING);
  for (int i = 0; i < 3; ++i) {
    stop(6);
    rig.clock.now += absl::Seconds(60);
    rig.manager->Poll();
  }
  const v1::Job job = rig.Job(id);
  EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job.attempts_size(), 6);
  EXPECT_EQ(job.restarts(), 5);
  EXPECT_THAT(job.state_reason(), HasSubstr("saved at step 6"));
  EXPECT_THAT(job.state_reason(), HasSubstr("no restart is left of 3"));
}

TEST(JobManagerTest, AFinalFailureBurnsNoRetries) {
  Rig rig;
  const std::string id = rig.Submit();
  v1::RunnerEvent ended = Rig::Ended(1, v1::ATTEMPT_OUTCOME_FAILED, 0, -1);
  ended.mutable_ended()->mutable_failure()->set_retryable(false);
  Play(rig, id, {ended});
  rig.End(id);
  EXPECT_EQ(rig.State(id), v1::JOB_STATE_FAILED);
  EXPECT_EQ(rig.Job(id).attempts_size(), 1);
}

TEST(JobManagerTest, CancelOfARunningJob) {
  Rig rig;
  const std::string id = rig.Submit();
  auto session = std::make_shared<FakeSession>();
  Play(rig, id, {Rig::FirstStep(1)}, session);
  EXPECT_EQ(rig.manager->Cancel(id, false)->state(), v1::JOB_STATE_CANCELLING);
  EXPECT_EQ(session->stops(), 1);
  // A runner that dials in again is told again.
  auto second = std::make_shared<FakeSession>();
  ASSERT_TRUE(rig.manager->Attach(rig.Hello(id), second).ok());
  EXPECT_EQ(second->stops(), 1);
  ASSERT_TRUE(rig.manager->HandleEvent(rig.Hello(id), Rig::Ended(2, v1::ATTEMPT_OUTCOME_STOPPED, 8, 8)).ok());
  rig.End(id);
  EXPECT_EQ(rig.State(id), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(rig.Job(id).checkpoint_step(), 8);
  EXPECT_EQ(rig.manager->Cancel(id, false)->state(), v1::JOB_STATE_CANCELLED);  // again is fine

  const auto resumed = Resume(rig, id);
  ASSERT_TRUE(resumed.ok());
  EXPECT_EQ(rig.State(id), v1::JOB_STATE_STARTING);
  EXPECT_EQ(rig.Job(id).attempts(1).start_step(), 8);
  EXPECT_FALSE(Resume(rig, id).ok());
}

TEST(JobManagerTest, ResumeOnAnotherNumberOfRanks) {
  Rig rig(4);
  v1::SubmitJobRequest request = Rig::Request(3);
  request.set_request_id("r");
  const std::string id = rig.manager->Submit(request).response.job().id();
  EXPECT_THAT(std::string(Resume(rig, id, 1).status().message()), HasSubstr("it is STARTING"));
  ASSERT_TRUE(rig.manager->Cancel(id, false).ok());
  Play(rig, id, {Rig::Ended(1, v1::ATTEMPT_OUTCOME_STOPPED, 8, 8)});
  rig.End(id);
  for (const int wrong : {0, -1, 5}) {
    std::vector<v1::FieldViolation> violations;
    const absl::Status status = Resume(rig, id, wrong, &violations).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    ASSERT_EQ(violations.size(), 1u);
    EXPECT_EQ(violations[0].field(), "resources.nproc");
    EXPECT_EQ(violations[0].description(),
              "must be 1 to 4 (this machine has 4 CPU slots), got " + std::to_string(wrong));
  }
  // The worker knows the data. What it says of other fields was for Submit to say.
  for (const char* field : {"training.init_from", "resources.nproc"}) {
    v1::FieldViolation& violation = *rig.checker.result.add_violations();
    violation.set_field(field);
    violation.set_description("too few samples");
  }
  std::vector<v1::FieldViolation> violations;
  EXPECT_TRUE(absl::IsInvalidArgument(Resume(rig, id, 4, &violations).status()));
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(rig.checker.requests.back().spec().resources().nproc(), 4);
  EXPECT_EQ(rig.State(id), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(rig.Job(id).spec().resources().nproc(), 3);

  rig.checker.result.mutable_violations()->RemoveLast();
  ASSERT_TRUE(Resume(rig, id, 1).ok());
  EXPECT_EQ(rig.launcher.launches.back().spec().resources().nproc(), 1);
  EXPECT_EQ(rig.launcher.launches.back().threads_per_rank(), 2);
  rig.Restart();
  const v1::Job job = rig.Job(id);
  EXPECT_EQ(job.spec().resources().nproc(), 1);
  EXPECT_EQ(job.attempts(0).nproc(), 3);
  EXPECT_EQ(job.attempts(1).nproc(), 1);
  EXPECT_EQ(rig.manager->Slots()[0].job_id(), id);
  EXPECT_EQ(rig.manager->Slots()[1].job_id(), "");
  const auto events = rig.store->reader().Events(id, 0, 99);
  EXPECT_TRUE(std::any_of(events->begin(), events->end(), [](const v1::JobEvent& event) {
    return event.reason() == "resume requested, on 1 rank instead of 3; waits for slots";
  }));
  // The spec as it was sent still is this job's.
  EXPECT_EQ(rig.manager->Submit(request).response.job().id(), id);
}

TEST(JobManagerTest, QueuedJobs) {
  Rig rig;
  const std::string first = rig.Submit();
  const std::string second = rig.Submit();
  const std::string third = rig.Submit();
  EXPECT_EQ(rig.State(second), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(rig.manager->Cancel(third, false)->state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(rig.manager->Pause(second)->state(), v1::JOB_STATE_PAUSED);
  EXPECT_EQ(Resume(rig, second)->state(), v1::JOB_STATE_QUEUED);
  Play(rig, first, {Rig::Ended(1, v1::ATTEMPT_OUTCOME_SUCCEEDED, 1, 1)});
  rig.End(first);
  EXPECT_EQ(rig.State(second), v1::JOB_STATE_STARTING);
  EXPECT_EQ(rig.manager->Slots()[0].job_id(), second);
}

TEST(JobManagerTest, RefusedSpecsMakeNoJob) {
  Rig rig;
  v1::SubmitJobRequest request = Rig::Request();
  request.mutable_spec()->mutable_training()->set_lr(0);
  SubmitResult result = rig.manager->Submit(request);
  EXPECT_TRUE(absl::IsInvalidArgument(result.status));
  ASSERT_EQ(result.violations.size(), 1u);
  EXPECT_EQ(result.violations[0].field(), "training.lr");
  EXPECT_TRUE(rig.checker.requests.empty());  // no process for what is wrong anyway
  v1::FieldViolation& violation = *rig.checker.result.add_violations();
  violation.set_field("training.data.source");
  violation.set_description("gone");
  result = rig.manager->Submit(Rig::Request());
  EXPECT_TRUE(absl::IsInvalidArgument(result.status));
  EXPECT_EQ(result.violations[0].description(), "gone");
  EXPECT_EQ(rig.manager->List({})->jobs_size(), 0);
}

TEST(JobManagerTest, Idempotence) {
  Rig rig;
  v1::SubmitJobRequest request = Rig::Request();
  request.set_request_id("r");
  const SubmitResult first = rig.manager->Submit(request);
  rig.Restart();
  const SubmitResult second = rig.manager->Submit(request);
  EXPECT_EQ(second.response.job().id(), first.response.job().id());
  EXPECT_EQ(rig.launcher.launches.size(), 1u);
  request.mutable_spec()->set_name("other");
  EXPECT_TRUE(absl::IsAlreadyExists(rig.manager->Submit(request).status));
}

TEST(JobManagerTest, FencedRunners) {
  Rig rig;
  const std::string id = rig.Submit();
  auto session = std::make_shared<FakeSession>();
  v1::RunnerHello hello = rig.Hello(id);
  hello.set_secret("wrong");
  EXPECT_TRUE(absl::IsPermissionDenied(rig.manager->Attach(hello, session)));
  hello = rig.Hello(id);
  hello.set_attempt(2);
  EXPECT_TRUE(absl::IsPermissionDenied(rig.manager->Attach(hello, session)));
  // What it has measured is refused as well, and counted.
  const uint64_t refused = telemetry.points_not_live;
  EXPECT_TRUE(absl::IsPermissionDenied(rig.manager->HandleEvent(hello, Rig::Loss(1, 1))));
  EXPECT_EQ(telemetry.points_not_live - refused, 1u);
  hello.set_job_id("0zzz");
  EXPECT_TRUE(absl::IsNotFound(rig.manager->Attach(hello, session)));
}

TEST(JobManagerTest, WhatAnAttemptSaysWhenItBeginsStays) {
  Rig rig;
  const std::string id = rig.Submit();
  v1::RunnerEvent begun = Rig::Event(1);
  (*begun.mutable_from_rank()->mutable_event()->mutable_begun()->mutable_facts())["steps_per_epoch"] = "29";
  Play(rig, id, {begun});
  rig.Restart();
  EXPECT_EQ(rig.Job(id).attempts(0).facts().at("steps_per_epoch"), "29");
}

TEST(JobManagerTest, EventsSentAgainCountOnce) {
  Rig rig;
  const std::string id = rig.Submit();
  auto session = std::make_shared<FakeSession>();
  Play(rig, id, {Rig::FirstStep(1), Rig::Loss(2, 1), Rig::Loss(3, 2)}, session);
  auto again = std::make_shared<FakeSession>();
  Play(rig, id, {Rig::Loss(2, 1), Rig::Loss(3, 2), Rig::Loss(4, 3)}, again);
  EXPECT_TRUE(absl::IsDataLoss(rig.manager->HandleEvent(rig.Hello(id), Rig::Loss(6, 5))));
  ASSERT_TRUE(rig.store->CommitAndWait(WriteBatch()).ok());
  EXPECT_EQ(again->acked(), 4u);
  v1::QueryMetricsRequest query;
  query.set_job_id(id);
  const auto points = QueryMetrics(rig.store->reader(), query);
  ASSERT_EQ(points->columns_size(), 1);
  EXPECT_THAT(points->columns(0).step(), ElementsAre(1, 2, 3));
}

// "step min" of what a query gives.
std::vector<std::pair<int64_t, double>> Histograms(Rig& rig, const std::string& id) {
  v1::QueryHistogramsRequest query;
  query.set_job_id(id);
  const auto response = QueryHistograms(rig.store->reader(), query);
  EXPECT_TRUE(response.ok()) << response.status();
  std::vector<std::pair<int64_t, double>> found;
  for (const v1::Histogram& histogram : response->histograms()) found.emplace_back(histogram.step(), histogram.min());
  return found;
}

TEST(JobManagerTest, HistogramsAreStoredOnceAndBesideThePoints) {
  Rig rig;
  const std::string id = rig.Submit();
  v1::RunnerEvent both = Rig::Loss(3, 2);
  *both.mutable_from_rank()->mutable_event()->mutable_metrics()->add_histograms() =
      Rig::Histogram(3, 2, -2).from_rank().event().metrics().histograms(0);
  both.mutable_from_rank()->mutable_event()->mutable_metrics()->add_texts()->set_series("sample");
  Play(rig, id, {Rig::FirstStep(1), Rig::Histogram(2, 1, -1), both});
  rig.Restart();
  const auto session = std::make_shared<FakeSession>();
  Play(rig, id, {Rig::Histogram(2, 1, -8), both, Rig::Histogram(4, 3, -3)}, session);
  ASSERT_TRUE(rig.store->CommitAndWait(WriteBatch()).ok());
  EXPECT_EQ(session->acked(), 4u);
  EXPECT_THAT(Histograms(rig, id), ElementsAre(Pair(1, -1.0), Pair(2, -2.0), Pair(3, -3.0)));
  // The stream of points has one batch, without the histogram and the text.
  EXPECT_EQ(*rig.store->reader().LastChunk(id), 1u);
  v1::MetricBatch stored;
  ASSERT_TRUE(stored.ParseFromString(rig.store->reader().Chunks(id, 0, 9, 1)->at(0).batch));
  EXPECT_EQ(stored.columns_size(), 1);
  EXPECT_EQ(stored.histograms_size(), 0);
  EXPECT_EQ(stored.texts_size(), 0);
  const auto extents = rig.store->reader().TextExtents(id);
  ASSERT_EQ(extents->size(), 1u);
  EXPECT_EQ(extents->at(0).series, "sample");
}

TEST(JobManagerTest, AResumedAttemptReplacesTheHistogramsAfterItsStart) {
  Rig rig;
  const std::string id = rig.Submit();
  Play(rig, id,
       {Rig::FirstStep(1), Rig::Histogram(2, 10, -1), Rig::Saved(3, 10), Rig::Histogram(4, 20, -1),
        Rig::Ended(5, v1::ATTEMPT_OUTCOME_FAILED, 20, 10)});
  rig.End(id);
  rig.clock.now += absl::Minutes(1);
  rig.manager->Poll();
  ASSERT_EQ(rig.Hello(id).attempt(), 2);
  EXPECT_THAT(Histograms(rig, id), ElementsAre(Pair(10, -1.0), Pair(20, -1.0)));
  Play(rig, id, {Rig::FirstStep(1), Rig::Loss(2, 11)});
  ASSERT_TRUE(rig.store->CommitAndWait(WriteBatch()).ok());
  EXPECT_THAT(Histograms(rig, id), ElementsAre(Pair(10, -1.0)));
  Play(rig, id, {Rig::Histogram(3, 20, -2)});
  ASSERT_TRUE(rig.store->CommitAndWait(WriteBatch()).ok());
  EXPECT_THAT(Histograms(rig, id), ElementsAre(Pair(10, -1.0), Pair(20, -2.0)));
}

TEST(JobManagerTest, ADaemonThatWasAwayReadsTheFiles) {
  Rig rig;
  const std::string id = rig.Submit();
  Play(rig, id, {Rig::FirstStep(1), Rig::Loss(2, 1)});
  const std::string dir = rig.manager->AttemptFolder(id, 1);
  rig.Stop();
  // What the runner wrote meanwhile. The first two are known already.
  ASSERT_TRUE(MakeFolders(dir).ok());
  {
    FakeClock clock;
    auto log = EventLog::Open(dir, clock);
    ASSERT_TRUE(log.ok());
    for (const v1::RunnerEvent& event : {Rig::FirstStep(1), Rig::Loss(2, 1), Rig::Loss(3, 2), Rig::Saved(4, 2),
                                         Rig::Ended(5, v1::ATTEMPT_OUTCOME_SUCCEEDED, 2, 2)}) {
      ASSERT_TRUE(log->Append(event).ok());
    }
  }
  rig.Start();
  EXPECT_EQ(rig.State(id), v1::JOB_STATE_RUNNING);
  rig.manager->Poll();
  EXPECT_EQ(rig.State(id), v1::JOB_STATE_RUNNING);  // its runner lives
  rig.End(id);
  EXPECT_EQ(rig.State(id), v1::JOB_STATE_SUCCEEDED);
  v1::QueryMetricsRequest query;
  query.set_job_id(id);
  EXPECT_THAT(QueryMetrics(rig.store->reader(), query)->columns(0).step(), ElementsAre(1, 2));
}

TEST(JobManagerTest, ALostRunnerIsAFailureThatMayBeRetried) {
  Rig rig;
  const std::string id = rig.Submit();
  Play(rig, id, {Rig::FirstStep(1)});
  rig.End(id);
  EXPECT_EQ(rig.State(id), v1::JOB_STATE_STARTING);
  const v1::Job job = rig.Job(id);
  EXPECT_EQ(job.attempts(0).outcome(), v1::ATTEMPT_OUTCOME_LOST);
  EXPECT_THAT(job.attempts(0).failure().message(), HasSubstr("vanished without a word"));
}

TEST(JobManagerTest, ALauncherThatFails) {
  Rig rig;
  rig.launcher.error = absl::ResourceExhaustedError("no processes left");
  const std::string id = rig.Submit();
  for (int i = 0; i < 4; ++i) {
    rig.clock.now += absl::Minutes(1);
    rig.manager->Poll();
  }
  EXPECT_EQ(rig.State(id), v1::JOB_STATE_FAILED);
  EXPECT_THAT(rig.Job(id).failure().message(), HasSubstr("no processes left"));
}

TEST(JobManagerTest, Parents) {
  Rig rig;
  const std::string parent = rig.Submit();
  v1::SubmitJobRequest request = Rig::Request();
  request.mutable_spec()->mutable_training()->set_mode(v1::MODE_FINETUNE);
  request.mutable_spec()->mutable_training()->set_init_from(parent);
  EXPECT_TRUE(absl::IsFailedPrecondition(rig.manager->Submit(request).status));
  const std::string folder = rig.manager->JobFolder(parent) + "/checkpoints/step-00000004";
  ASSERT_TRUE(MakeFolders(folder).ok());
  ASSERT_TRUE(WriteFileAtomic(folder + "/manifest.json", "{}").ok());
  const SubmitResult child = rig.manager->Submit(request);
  ASSERT_TRUE(child.status.ok()) << child.status;
  EXPECT_EQ(child.response.job().parent_id(), parent);
  EXPECT_EQ(rig.checker.requests.back().init_path(), folder);
  request.mutable_spec()->mutable_training()->set_init_from(parent + "@5");
  EXPECT_THAT(std::string(rig.manager->Submit(request).status.message()),
              HasSubstr("no checkpoint of step 5; it has those of the steps 4"));
  request.mutable_spec()->mutable_training()->set_init_from("0zzzzzzzzzzz");
  EXPECT_TRUE(absl::IsNotFound(rig.manager->Submit(request).status));
}

TEST(JobManagerTest, ACheckpointFolderIsAParentLikeAJob) {
  Rig rig;
  const std::string folder = rig.home + "/elsewhere";
  ASSERT_TRUE(MakeFolders(folder).ok());
  v1::Training& parent = *rig.checker.parent.mutable_parent();
  parent.mutable_model()->set_name("mlp");
  (*parent.mutable_model()->mutable_options())["hidden"] = "8";
  (*parent.mutable_model()->mutable_options())["dropout"] = "0.5";
  parent.mutable_data()->set_max_tokens(77);
  v1::SubmitJobRequest request = Rig::Request();
  v1::Training& training = *request.mutable_spec()->mutable_training();
  training.set_mode(v1::MODE_FINETUNE);
  training.set_init_from(folder);
  (*training.mutable_model()->mutable_options())["dropout"] = "0";
  const SubmitResult child = rig.manager->Submit(request);
  ASSERT_TRUE(child.status.ok()) << child.status;
  ASSERT_EQ(rig.checker.requests.size(), 2u);
  EXPECT_TRUE(rig.checker.requests[0].parent_only());
  EXPECT_EQ(rig.checker.requests[0].init_path(), folder);
  EXPECT_FALSE(rig.checker.requests[1].parent_only());
  const v1::Training& taken = child.response.job().spec().training();
  EXPECT_EQ(taken.model().name(), "mlp");
  EXPECT_EQ(taken.model().options().at("hidden"), "8");
  EXPECT_EQ(taken.model().options().at("dropout"), "0");  // the child's own word
  EXPECT_EQ(taken.data().max_tokens(), 77);
  EXPECT_EQ(child.response.job().parent_id(), "");

  // Who names the model and the length needs no description, and gets nothing from the parent.
  training.mutable_model()->set_name("mlp");
  training.mutable_data()->set_max_tokens(5);
  rig.checker.requests.clear();
  const SubmitResult own = rig.manager->Submit(request);
  EXPECT_EQ(rig.checker.requests.size(), 1u);
  EXPECT_FALSE(own.response.job().spec().training().model().options().contains("hidden"));
  // Nor does a file of weights, which has none.
  training.mutable_model()->clear_name();
  training.set_init_from("/weights.safetensors");
  rig.checker.requests.clear();
  EXPECT_TRUE(rig.manager->Submit(request).status.ok());
  EXPECT_EQ(rig.checker.requests.size(), 1u);
}

TEST(JobManagerTest, AFolderThatIsNoCheckpointIsRefused) {
  Rig rig;
  v1::FieldViolation& violation = *rig.checker.parent.add_violations();
  violation.set_field("training.init_from");
  violation.set_description("no state.json");
  v1::SubmitJobRequest request = Rig::Request();
  request.mutable_spec()->mutable_training()->set_mode(v1::MODE_FINETUNE);
  request.mutable_spec()->mutable_training()->set_init_from(rig.home);
  const SubmitResult refused = rig.manager->Submit(request);
  ASSERT_EQ(refused.violations.size(), 1u);
  EXPECT_EQ(refused.violations[0].field(), "training.init_from");
}

TEST(JobManagerTest, IdsAndPrefixes) {
  Rig rig;
  const std::string id = rig.Submit();
  EXPECT_EQ(rig.manager->Get(id.substr(0, 11))->id(), id);
  EXPECT_TRUE(absl::IsNotFound(rig.manager->Get("0zzzzzzzzzzz").status()));
  for (const char* wrong : {"", "../x", "ABC", "0123456789abc"})
    EXPECT_TRUE(absl::IsInvalidArgument(rig.manager->Get(wrong).status())) << wrong;
  const std::string other = rig.Submit();
  EXPECT_TRUE(absl::IsInvalidArgument(rig.manager->Get("0").status()));  // both begin with it
}

TEST(JobManagerTest, Delete) {
  Rig rig;
  const std::string id = rig.Submit();
  EXPECT_TRUE(absl::IsFailedPrecondition(rig.manager->Delete(id)));
  Play(rig, id, {Rig::Ended(1, v1::ATTEMPT_OUTCOME_SUCCEEDED, 1, 1)});
  rig.End(id);
  ASSERT_TRUE(MakeFolders(rig.manager->JobFolder(id)).ok());
  EXPECT_TRUE(rig.manager->Delete(id).ok());
  EXPECT_FALSE(Exists(rig.manager->JobFolder(id)));
  rig.Restart();
  EXPECT_TRUE(absl::IsNotFound(rig.manager->Get(id).status()));
}

TEST(JobManagerTest, WatchersSeeEveryEventOnceAndTheEnd) {
  Rig rig;
  const std::string id = rig.Submit();
  int wakes = 0;
  auto watch = std::move(rig.manager->Watch(id, 0, [&] { ++wakes; })).value();
  std::vector<uint64_t> events;
  v1::Job last;
  const auto drain = [&] {
    for (v1::WatchJobResponse update;;) {
      const auto step = watch->Next(update);
      if (!step.ok() || *step != StreamStep::kItem) return step.ok() ? *step : StreamStep::kEnd;
      if (update.has_event())
        events.push_back(update.event().seq());
      else
        last = update.job();
    }
  };
  EXPECT_EQ(drain(), StreamStep::kWait);
  EXPECT_THAT(events, ElementsAre(1, 2));  // submitted, placed
  Play(rig, id, {Rig::FirstStep(1), Rig::Saved(2, 3), Rig::Ended(3, v1::ATTEMPT_OUTCOME_SUCCEEDED, 3, 3)});
  EXPECT_GT(wakes, 0);
  rig.End(id);
  EXPECT_EQ(drain(), StreamStep::kEnd);
  EXPECT_THAT(events, ElementsAre(1, 2, 3, 4, 5));  // running, saved, succeeded
  EXPECT_EQ(last.state(), v1::JOB_STATE_SUCCEEDED);
}

TEST(JobManagerTest, ListPages) {
  Rig rig(1);
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) {
    rig.clock.now += absl::Seconds(1);
    ids.push_back(rig.Submit(1));
  }
  v1::ListJobsRequest request;
  request.set_page_size(2);
  std::vector<std::string> seen;
  for (;;) {
    const auto page = rig.manager->List(request);
    ASSERT_TRUE(page.ok());
    for (const v1::Job& job : page->jobs()) seen.push_back(job.id());
    if (page->next_page_token().empty()) break;
    request.set_page_token(page->next_page_token());
  }
  EXPECT_EQ(seen, std::vector<std::string>(ids.rbegin(), ids.rend()));
  request.set_page_size(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(rig.manager->List(request).status()));
}

}  // namespace
}  // namespace ddp
