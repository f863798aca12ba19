#include "server/store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <limits>

#include "server/store/schema.h"

namespace ddp {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/store_test.XXXXXX";
    folder_ = mkdtemp(name.data());
    path_ = folder_ + "/ddpd.db";
    Reopen();
  }
  void TearDown() override {
    store_.reset();
    fs::remove_all(folder_);
  }
  void Reopen() {
    store_.reset();
    auto opened = Store::Open(path_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }
  absl::Status Put(const JobRecord& record) {
    WriteBatch batch;
    batch.PutJob(record);
    return store_->CommitAndWait(std::move(batch));
  }
  absl::Status PutAttempt(const std::string& job, int number) {
    v1::Attempt attempt;
    attempt.set_number(number);
    WriteBatch batch;
    batch.PutAttempt(job, attempt, "secret");
    return store_->CommitAndWait(std::move(batch));
  }
  std::vector<JobRecord> Jobs() {
    auto jobs = store_->reader().Jobs();
    EXPECT_TRUE(jobs.ok()) << jobs.status();
    return jobs.ok() ? *std::move(jobs) : std::vector<JobRecord>();
  }

  std::string folder_;
  std::string path_;
  std::unique_ptr<Store> store_;
};

JobRecord SampleJob(const std::string& id) {
  JobRecord record;
  record.job.set_id(id);
  record.job.mutable_spec()->set_name("näme");
  record.job.set_state(v1::JOB_STATE_QUEUED);
  record.job.set_state_reason("submitted");
  record.job.mutable_create_time()->set_seconds(1700000000);
  record.job.mutable_create_time()->set_nanos(123456000);
  *record.job.mutable_update_time() = record.job.create_time();
  record.job.set_checkpoint_step(-1);
  record.spec_hash = std::string("\0\1hash", 6);
  return record;
}

TEST_F(StoreTest, AJobComesBackAsItWasAfterReopening) {
  JobRecord record = SampleJob("0aaaaaaaaaaa");
  record.request_id = "request-1";
  record.init_path = "/somewhere/step-00000012";
  record.failures_in_row = 2;
  record.slots = {0, 3};
  record.last_event = 7;
  record.job.set_parent_id("0parent");
  record.job.set_restarts(4);
  record.job.mutable_progress()->set_loss(std::numeric_limits<double>::infinity());
  record.job.mutable_failure()->set_message("boom");
  record.job.mutable_end_time()->set_seconds(1700000009);
  ASSERT_TRUE(Put(record).ok());
  v1::Attempt attempt;
  attempt.set_number(1);
  attempt.add_worker_pids(4242);
  WriteBatch batch;
  batch.PutAttempt(record.job.id(), attempt, "s3cret");
  batch.Acknowledge(record.job.id(), 1, 0, 5);
  ASSERT_TRUE(store_->CommitAndWait(std::move(batch)).ok());

  Reopen();
  const std::vector<JobRecord> jobs = Jobs();
  ASSERT_EQ(jobs.size(), 1u);
  *record.job.add_attempts() = attempt;
  EXPECT_EQ(jobs[0].job.SerializeAsString(), record.job.SerializeAsString());
  EXPECT_EQ(jobs[0].request_id, "request-1");
  EXPECT_EQ(jobs[0].spec_hash, record.spec_hash);
  EXPECT_EQ(jobs[0].init_path, record.init_path);
  EXPECT_EQ(jobs[0].failures_in_row, 2);
  EXPECT_THAT(jobs[0].slots, ElementsAre(0, 3));
  EXPECT_EQ(jobs[0].last_event, 7u);
  EXPECT_EQ(jobs[0].secret, "s3cret");
  EXPECT_EQ(jobs[0].acked_seq, 5u);
}

TEST_F(StoreTest, OneRequestIdMakesOneJob) {
  JobRecord first = SampleJob("0aaaaaaaaaaa");
  first.request_id = "same";
  JobRecord second = SampleJob("0bbbbbbbbbbb");
  second.request_id = "same";
  ASSERT_TRUE(Put(first).ok());
  EXPECT_EQ(Put(second).code(), absl::StatusCode::kAlreadyExists);
  // Jobs without a request id do not clash.
  EXPECT_TRUE(Put(SampleJob("0ccccccccccc")).ok());
  EXPECT_TRUE(Put(SampleJob("0ddddddddddd")).ok());
  EXPECT_EQ(Jobs().size(), 3u);
}

TEST_F(StoreTest, ABatchIsAllOrNothing) {
  ASSERT_TRUE(Put(SampleJob("0aaaaaaaaaaa")).ok());
  WriteBatch batch;
  batch.PutJob(SampleJob("0bbbbbbbbbbb"));
  batch.Acknowledge("0aaaaaaaaaaa", 1, 0, 1);  // there is no such attempt
  EXPECT_EQ(store_->CommitAndWait(std::move(batch)).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Jobs().size(), 1u);
}

TEST_F(StoreTest, AnAcknowledgementMovesOnlyFromWhereItStands) {
  ASSERT_TRUE(Put(SampleJob("0aaaaaaaaaaa")).ok());
  ASSERT_TRUE(PutAttempt("0aaaaaaaaaaa", 1).ok());
  auto acknowledge = [this](uint64_t from, uint64_t to) {
    WriteBatch batch;
    batch.Acknowledge("0aaaaaaaaaaa", 1, from, to);
    return store_->CommitAndWait(std::move(batch)).code();
  };
  EXPECT_EQ(acknowledge(0, 3), absl::StatusCode::kOk);
  EXPECT_EQ(acknowledge(4, 5), absl::StatusCode::kAborted);  // 4 was lost
  EXPECT_EQ(acknowledge(2, 3), absl::StatusCode::kAborted);  // 3 again
  EXPECT_EQ(Jobs()[0].acked_seq, 3u);
  // Writing the attempt again leaves its acknowledged seq alone.
  ASSERT_TRUE(PutAttempt("0aaaaaaaaaaa", 1).ok());
  EXPECT_EQ(Jobs()[0].acked_seq, 3u);
}

TEST_F(StoreTest, OneRefusedBatchDoesNotTakeItsGroupWithIt) {
  ASSERT_TRUE(Put(SampleJob("0aaaaaaaaaaa")).ok());
  std::vector<std::promise<absl::Status>> results(100);
  for (int i = 0; i < 100; ++i) {
    WriteBatch batch;
    v1::JobEvent event;
    event.set_seq(i == 50 ? 1 : i + 1);  // number 50 takes a seq that exists
    batch.AddEvent("0aaaaaaaaaaa", event);
    store_->Commit(std::move(batch), [&results, i](const absl::Status& status) { results[i].set_value(status); });
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(results[i].get_future().get().code(), i == 50 ? absl::StatusCode::kAlreadyExists : absl::StatusCode::kOk)
        << i;
  }
  EXPECT_EQ(store_->reader().Events("0aaaaaaaaaaa", 0, kAll)->size(), 99u);
  const auto some = store_->reader().Events("0aaaaaaaaaaa", 10, 12);
  ASSERT_EQ(some->size(), 2u);
  EXPECT_EQ((*some)[0].seq(), 11u);
}

TEST_F(StoreTest, WhatIsQueuedAtCloseIsCommitted) {
  for (char c = 'a'; c <= 'z'; ++c) {
    WriteBatch batch;
    batch.PutJob(SampleJob(std::string(12, c)));
    store_->Commit(std::move(batch), [](const absl::Status& status) { EXPECT_TRUE(status.ok()); });
  }
  Reopen();
  EXPECT_EQ(Jobs().size(), 26u);
}

TEST_F(StoreTest, ChunksComeInOrderAndInPages) {
  ASSERT_TRUE(Put(SampleJob("0aaaaaaaaaaa")).ok());
  WriteBatch batch;
  for (uint64_t seq = 1; seq <= 5; ++seq) batch.AddChunk("0aaaaaaaaaaa", {seq, 2, 40, std::string(100, 'x')});
  ASSERT_TRUE(store_->CommitAndWait(std::move(batch)).ok());
  EXPECT_EQ(*store_->reader().LastChunk("0aaaaaaaaaaa"), 5u);
  EXPECT_EQ(*store_->reader().LastChunk("0bbbbbbbbbbb"), 0u);
  const auto page = store_->reader().Chunks("0aaaaaaaaaaa", 1, kAll, 250);
  ASSERT_EQ(page->size(), 3u);
  EXPECT_EQ((*page)[0].seq, 2u);
  EXPECT_EQ((*page)[2].seq, 4u);
  EXPECT_EQ((*page)[0].attempt, 2);
  EXPECT_EQ((*page)[0].start_step, 40);
  EXPECT_EQ(store_->reader().Chunks("0aaaaaaaaaaa", 0, 2, 1)->size(), 1u);  // never an empty page while there is more
}

v1::Histogram SampleHistogram(const std::string& series, int64_t step, double min) {
  v1::Histogram histogram;
  histogram.set_series(series);
  histogram.set_step(step);
  histogram.set_time(1700000000.25);
  histogram.set_min(min);
  histogram.set_max(min + 2);
  for (int i = 0; i < 64; ++i) histogram.add_counts(int64_t{1} << (i % 40));
  histogram.set_non_finite(3);
  return histogram;
}

TEST_F(StoreTest, AHistogramComesBackAsItWas) {
  ASSERT_TRUE(Put(SampleJob("0aaaaaaaaaaa")).ok());
  WriteBatch batch;
  batch.AddHistograms("0aaaaaaaaaaa", {1, 0, {SampleHistogram("grad/b", 10, -1), SampleHistogram("grad/a", 20, -2)}});
  ASSERT_TRUE(store_->CommitAndWait(std::move(batch)).ok());
  // The same attempt again, as after a rollback: replaced.
  WriteBatch again;
  again.AddHistograms("0aaaaaaaaaaa", {1, 0, {SampleHistogram("grad/b", 10, -7)}});
  ASSERT_TRUE(store_->CommitAndWait(std::move(again)).ok());

  Reopen();
  EXPECT_THAT(*store_->reader().HistogramSeries("0aaaaaaaaaaa"), ElementsAre("grad/a", "grad/b"));
  EXPECT_TRUE(store_->reader().HistogramSeries("0bbbbbbbbbbb")->empty());
  EXPECT_EQ(store_->reader().HistogramKeys("0aaaaaaaaaaa", "grad/b", 0, 100)->size(), 1u);
  const auto found = store_->reader().Histogram("0aaaaaaaaaaa", "grad/b", {10, 1});
  ASSERT_TRUE(found.ok() && *found) << found.status();
  EXPECT_EQ((*found)->SerializeAsString(), SampleHistogram("grad/b", 10, -7).SerializeAsString());
  EXPECT_EQ(*store_->reader().Histogram("0aaaaaaaaaaa", "grad/b", {11, 1}), std::nullopt);
}

TEST_F(StoreTest, HistogramsAreSupersededByTheFirstMetricsOfALaterAttempt) {
  ASSERT_TRUE(Put(SampleJob("0aaaaaaaaaaa")).ok());
  const auto steps = [this] {
    std::vector<int64_t> steps;
    const auto keys = store_->reader().HistogramKeys("0aaaaaaaaaaa", "p", 0, 100);
    for (const HistogramKey& key : keys.value()) steps.push_back(100 * key.attempt + key.step);
    return steps;
  };
  WriteBatch first;
  first.AddHistograms("0aaaaaaaaaaa",
                      {1, 0, {SampleHistogram("p", 10, 0), SampleHistogram("p", 20, 0), SampleHistogram("p", 30, 0)}});
  ASSERT_TRUE(store_->CommitAndWait(std::move(first)).ok());
  EXPECT_THAT(steps(), ElementsAre(110, 120, 130));
  WriteBatch points;  // of attempt 2, which went on from step 20, and has no histogram yet
  points.AddChunk("0aaaaaaaaaaa", {1, 2, 20, "x"});
  ASSERT_TRUE(store_->CommitAndWait(std::move(points)).ok());
  EXPECT_THAT(steps(), ElementsAre(110, 120));
  WriteBatch second;
  second.AddHistograms("0aaaaaaaaaaa", {2, 20, {SampleHistogram("p", 30, 0), SampleHistogram("p", 40, 0)}});
  ASSERT_TRUE(store_->CommitAndWait(std::move(second)).ok());
  EXPECT_THAT(steps(), ElementsAre(110, 120, 230, 240));
  WriteBatch third;  // from further back
  third.AddHistograms("0aaaaaaaaaaa", {3, 10, {SampleHistogram("p", 20, 0)}});
  ASSERT_TRUE(store_->CommitAndWait(std::move(third)).ok());
  EXPECT_THAT(steps(), ElementsAre(110, 320));
}

TEST_F(StoreTest, AFileOfSchema1IsBroughtUpToDate) {
  ASSERT_TRUE(Put(SampleJob("0aaaaaaaaaaa")).ok());
  WriteBatch fill;
  fill.AddChunk("0aaaaaaaaaaa", {1, 1, 0, "x"});
  fill.AddChunk("0aaaaaaaaaaa", {2, 2, 20, "x"});
  fill.AddChunk("0aaaaaaaaaaa", {3, 2, 20, "x"});
  ASSERT_TRUE(store_->CommitAndWait(std::move(fill)).ok());
  store_.reset();
  {
    auto database = Database::Open(path_);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database
                    ->Execute("DROP TABLE metric_summaries; DROP TABLE metric_retention; DROP TABLE texts; DROP TABLE "
                              "histograms; DROP TABLE metric_attempts; PRAGMA user_version=1")
                    .ok());
  }
  Reopen();
  EXPECT_EQ(*store_->reader().LastChunk("0aaaaaaaaaaa"), 3u);
  WriteBatch batch;
  batch.AddHistograms("0aaaaaaaaaaa", {1, 0, {SampleHistogram("p", 20, 0), SampleHistogram("p", 21, 0)}});
  ASSERT_TRUE(store_->CommitAndWait(std::move(batch)).ok());
  // It knows that attempt 2 went on from step 20.
  const auto keys = store_->reader().HistogramKeys("0aaaaaaaaaaa", "p", 0, 100);
  ASSERT_EQ(keys->size(), 1u);
  EXPECT_EQ((*keys)[0].step, 20);
}

TEST_F(StoreTest, AFileOfSchema2IsBroughtUpToDate) {
  ASSERT_TRUE(Put(SampleJob("0aaaaaaaaaaa")).ok());
  WriteBatch fill;
  fill.AddChunk("0aaaaaaaaaaa", {1, 1, 0, "x"});
  fill.AddHistograms("0aaaaaaaaaaa", {1, 0, {SampleHistogram("p", 20, 0)}});
  ASSERT_TRUE(store_->CommitAndWait(std::move(fill)).ok());
  store_.reset();
  {
    auto database = Database::Open(path_);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(
        database
            ->Execute(
                "DROP TABLE metric_summaries; DROP TABLE metric_retention; DROP TABLE texts; PRAGMA user_version=2")
            .ok());
  }
  Reopen();
  EXPECT_EQ(*store_->reader().LastChunk("0aaaaaaaaaaa"), 1u);
  EXPECT_EQ(store_->reader().HistogramKeys("0aaaaaaaaaaa", "p", 0, 100)->size(), 1u);
  WriteBatch batch;
  batch.AddTexts("0aaaaaaaaaaa", {1, 0, {v1::Text()}});
  EXPECT_TRUE(store_->CommitAndWait(std::move(batch)).ok());
}

TEST_F(StoreTest, DeletingAJobDeletesAllOfIt) {
  ASSERT_TRUE(Put(SampleJob("0aaaaaaaaaaa")).ok());
  ASSERT_TRUE(PutAttempt("0aaaaaaaaaaa", 1).ok());
  WriteBatch fill;
  v1::JobEvent event;
  event.set_seq(1);
  fill.AddEvent("0aaaaaaaaaaa", event);
  fill.AddChunk("0aaaaaaaaaaa", {1, 1, 0, "x"});
  fill.AddHistograms("0aaaaaaaaaaa", {1, 0, {SampleHistogram("p", 1, 0)}});
  fill.AddTexts("0aaaaaaaaaaa", {1, 0, {v1::Text()}});
  ASSERT_TRUE(store_->CommitAndWait(std::move(fill)).ok());
  WriteBatch remove;
  remove.DeleteJob("0aaaaaaaaaaa");
  ASSERT_TRUE(store_->CommitAndWait(std::move(remove)).ok());
  EXPECT_TRUE(Jobs().empty());
  EXPECT_TRUE(store_->reader().Events("0aaaaaaaaaaa", 0, kAll)->empty());
  EXPECT_EQ(*store_->reader().LastChunk("0aaaaaaaaaaa"), 0u);
  EXPECT_TRUE(store_->reader().HistogramSeries("0aaaaaaaaaaa")->empty());
  EXPECT_TRUE(store_->reader().TextExtents("0aaaaaaaaaaa")->empty());
}

TEST_F(StoreTest, AFullDiskRefusesAndTheStoreGoesOnWhenThereIsSpaceAgain) {
  ASSERT_TRUE(Put(SampleJob("0aaaaaaaaaaa")).ok());
  struct stat wal;
  ASSERT_EQ(stat((path_ + "-wal").c_str(), &wal), 0);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit full = before;
  full.rlim_cur = wal.st_size;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  const absl::Status refused = Put(SampleJob("0bbbbbbbbbbb"));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);

  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_EQ(Jobs().size(), 1u);
  EXPECT_TRUE(Put(SampleJob("0ccccccccccc")).ok());
  Reopen();
  EXPECT_EQ(Jobs().size(), 2u);
}

TEST_F(StoreTest, ANewerFileIsRefused) {
  store_.reset();
  {
    auto database = Database::Open(path_);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database->Execute("PRAGMA user_version=99").ok());
  }
  const auto opened = Store::Open(path_);
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("newer ddpd (schema 99"));
}

TEST_F(StoreTest, AFileThatIsNoDatabaseIsRefused) {
  store_.reset();
  fs::remove(path_ + "-wal");
  fs::remove(path_ + "-shm");
  std::ofstream(path_, std::ios::trunc) << std::string(4096, 'z');
  EXPECT_EQ(Store::Open(path_).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace ddp
