#include "server/metrics/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "server/metrics/hub.h"
#include "server/metrics/query.h"
#include "server/metrics/subscription.h"
#include "server/store/store_fixture.h"
#include "server/store/testing.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kDay = 24 * 60 * 60;
constexpr int64_t kEnd = 1'700'000'000;

class StoppedClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::FromUnixSeconds(seconds); }
  absl::Duration Monotonic() const override { return absl::ZeroDuration(); }
  int64_t seconds = 0;
};

class RetentionTest : public StoreFixture {
 protected:
  void Add(int32_t attempt, int64_t start_step, const v1::MetricBatch& metrics) {
    WriteBatch batch;
    batch.AddChunk(kJob, {++seq_, attempt, start_step, metrics.SerializeAsString()});
    ASSERT_TRUE(store_->CommitAndWait(std::move(batch)).ok());
  }
  // end: 0: it runs.
  void SetEnd(int64_t end) {
    JobRecord record;
    record.job.set_id(kJob);
    if (end != 0) record.job.mutable_end_time()->set_seconds(end);
    WriteBatch batch;
    batch.PutJob(record);
    ASSERT_TRUE(store_->CommitAndWait(std::move(batch)).ok());
  }
  absl::Status RunAt(int64_t seconds, int keep_days = 30, size_t page_bytes = MetricRetention::kPageBytes) {
    clock_.seconds = seconds;
    return MetricRetention(*store_, clock_, keep_days, page_bytes).RunOnce();
  }
  std::vector<std::pair<int64_t, double>> Points(const std::string& series, int attempt = 0) {
    v1::QueryMetricsRequest request;
    request.set_job_id(kJob);
    request.set_attempt(attempt);
    request.add_series(series);
    const auto found = QueryMetrics(store_->reader(), request);
    EXPECT_TRUE(found.ok()) << found.status();
    std::vector<std::pair<int64_t, double>> points;
    for (const v1::MetricColumn& column : found->columns()) {
      for (int i = 0; i < column.step_size(); ++i) points.emplace_back(column.step(i), column.value(i));
    }
    return points;
  }
  std::vector<uint64_t> Seqs() {
    std::vector<uint64_t> seqs;
    const auto chunks = store_->reader().Chunks(kJob, 0, UINT64_MAX, SIZE_MAX);
    for (const MetricChunk& chunk : chunks.value()) seqs.push_back(chunk.seq);
    return seqs;
  }
  // 20,000 points in batches of 100: two spikes, one NaN; the others rise.
  void AddLong() {
    for (int64_t first = 1; first <= 20'000; first += 100) {
      std::vector<std::pair<int64_t, double>> points;
      for (int64_t step = first; step < first + 100; ++step) points.emplace_back(step, LongValue(step));
      v1::MetricBatch metrics = OneSeries("loss", points);
      if (first == 1) *metrics.add_columns() = OneSeries("lr", {{1, 0.5}, {2, 0.25}}).columns(0);
      Add(1, 0, metrics);
    }
  }
  static double LongValue(int64_t step) {
    if (step == 7'003) return 1e9;
    if (step == 7'005) return -1e9;
    if (step == 7'007) return std::numeric_limits<double>::quiet_NaN();
    return static_cast<double>(step);
  }
  // Buckets of 10 rising values keep their first and their last one; the bucket of the spikes (7,001 to 7,010) keeps
  // them too.
  static std::vector<int64_t> LongSteps() {
    std::vector<int64_t> steps;
    for (int64_t first = 1; first <= 20'000; first += 10) {
      steps.push_back(first);
      if (first == 7'001) steps.insert(steps.end(), {7'003, 7'005, 7'007});
      steps.push_back(first + 9);
    }
    return steps;
  }

  StoppedClock clock_;
  uint64_t seq_ = 0;
};

TEST_F(RetentionTest, OnlyJobsThatEndedLongAgo) {
  Add(1, 0, OneSeries("loss", {{1, 1.0}, {2, 2.0}, {3, 3.0}}));
  Add(2, 1, OneSeries("loss", {{2, 2.5}}));
  EXPECT_TRUE(RunAt(kEnd + 1000 * kDay).ok());  // it runs
  EXPECT_EQ(Points("loss", 1).size(), 3u);
  SetEnd(kEnd);
  EXPECT_TRUE(RunAt(kEnd + 30 * kDay - 1).ok());
  EXPECT_EQ(Points("loss", 1).size(), 3u);
  EXPECT_TRUE(RunAt(kEnd + 30 * kDay).ok());
  EXPECT_THAT(Points("loss", 1), ElementsAre(std::pair(1, 1.0)));
  EXPECT_THAT(Points("loss"), ElementsAre(std::pair(1, 1.0), std::pair(2, 2.5)));
}

TEST_F(RetentionTest, SupersededTailsGoAndSeqsStay) {
  Add(1, 0, OneSeries("loss", {{1, 1.0}, {2, 2.0}}));
  Add(1, 0, OneSeries("loss", {{3, 3.0}}));            // all of it is superseded
  Add(2, 1, OneSeries("loss", {{2, 2.5}, {3, 3.5}}));  // its second point
  Add(3, 2, OneSeries("acc", {{3, 0.5}}));
  SetEnd(kEnd);
  ASSERT_TRUE(RunAt(kEnd + 31 * kDay).ok());
  EXPECT_THAT(Seqs(), ElementsAre(1, 3, 4));
  EXPECT_THAT(Points("loss"), ElementsAre(std::pair(1, 1.0), std::pair(2, 2.5)));
  EXPECT_THAT(Points("loss", 2), ElementsAre(std::pair(2, 2.5)));
  const auto list = ListSeries(store_->reader(), kJob);
  ASSERT_EQ(list->series_size(), 2);
  EXPECT_EQ(list->series(1).count(), 2);
  EXPECT_EQ(list->series(1).last(), 2.5);
}

TEST_F(RetentionTest, LongSeriesAreThinnedOutExactly) {
  AddLong();
  SetEnd(kEnd);
  ASSERT_TRUE(RunAt(kEnd + 31 * kDay).ok());
  const auto points = Points("loss");
  std::vector<int64_t> steps;
  for (const auto& [step, value] : points) {
    steps.push_back(step);
    if (step == 7'007) {
      EXPECT_TRUE(std::isnan(value));
    } else {
      EXPECT_EQ(value, LongValue(step));
    }
  }
  EXPECT_EQ(steps, LongSteps());
  EXPECT_THAT(Points("lr"), ElementsAre(std::pair(1, 0.5), std::pair(2, 0.25)));
  EXPECT_EQ(ListSeries(store_->reader(), kJob)->series(0).count(), 4003);
}

TEST_F(RetentionTest, AStreamFromTheBeginningGivesWhatIsLeft) {
  AddLong();
  SetEnd(kEnd);
  ASSERT_TRUE(RunAt(kEnd + 31 * kDay).ok());
  MetricHub hub(store_->reader());
  const auto all = hub.Subscribe(kJob, 0, [] {});
  v1::StreamMetricsResponse batch;
  std::vector<int64_t> steps;
  uint64_t last = 0;
  while (all->Next(batch).value() == StreamStep::kItem) {
    EXPECT_GT(batch.seq(), last);
    last = batch.seq();
    for (const v1::MetricColumn& column : batch.columns()) {
      if (column.series() == "loss") steps.insert(steps.end(), column.step().begin(), column.step().end());
    }
  }
  EXPECT_EQ(last, seq_);
  EXPECT_EQ(steps, LongSteps());
  EXPECT_EQ(hub.Subscribe(kJob, seq_, [] {})->Next(batch).value(), StreamStep::kEnd);
  EXPECT_EQ(hub.Subscribe(kJob, seq_ + 1, [] {})->Next(batch).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(RetentionTest, TheNewestBatchStaysEvenWhenNothingOfItDoes) {
  AddLong();
  Add(1, 0, OneSeries("loss", {{5, 5.0}}));  // in the middle of the first bucket
  SetEnd(kEnd);
  ASSERT_TRUE(RunAt(kEnd + 31 * kDay).ok());
  const auto newest = store_->reader().Chunks(kJob, seq_ - 1, seq_, 1);
  ASSERT_EQ(newest->size(), 1u);
  EXPECT_EQ((*newest)[0].batch, "");
}

TEST_F(RetentionTest, GoesOnWhereItStopped) {
  AddLong();
  SetEnd(kEnd);
  // The first half has been thinned out before, and the daemon has died.
  std::vector<int64_t> wanted;
  WriteBatch half;
  ThinnedChunks part{.end_time = kEnd * 1'000'000, .up_to = 100};
  for (uint64_t seq = 1; seq <= 100; ++seq) {
    const int64_t step = static_cast<int64_t>(seq) * 100 - 50;
    wanted.push_back(step);
    part.replaced.emplace_back(seq, OneSeries("loss", {{step, LongValue(step)}}).SerializeAsString());
  }
  half.ThinChunks(kJob, std::move(part));
  ASSERT_TRUE(store_->CommitAndWait(std::move(half)).ok());
  ASSERT_TRUE(RunAt(kEnd + 31 * kDay, 30, 1000).ok());
  const auto points = Points("loss");
  ASSERT_GT(points.size(), 100u);
  EXPECT_LE(points.size(), MetricRetention::kLongest);
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(points[i].first, wanted[i]);
  EXPECT_EQ(points[100].first, 10'001);
  EXPECT_EQ(points.back().first, 20'000);
  EXPECT_EQ(ListSeries(store_->reader(), kJob)->series(0).count(), static_cast<int64_t>(points.size()));
}

TEST_F(RetentionTest, OnceForEachTimeThatAJobEnds) {
  AddLong();
  SetEnd(kEnd);
  ASSERT_TRUE(RunAt(kEnd + 31 * kDay).ok());
  EXPECT_TRUE(store_->reader().UnthinnedJobs(INT64_MAX)->empty());
  SetEnd(0);
  Add(2, 10'000, OneSeries("loss", {{10'001, 5.0}}));
  EXPECT_EQ(ListSeries(store_->reader(), kJob)->series(0).last_step(), 10'001);
  SetEnd(kEnd + 100);
  ASSERT_TRUE(RunAt(kEnd + 31 * kDay).ok());
  const auto points = Points("loss");
  EXPECT_EQ(points.back(), std::pair(int64_t{10'001}, 5.0));
  EXPECT_EQ(Points("loss", 1).back().first, 10'000);
}

TEST_F(RetentionTest, AJobThatIsResumedMeanwhileIsLeftAlone) {
  Add(1, 0, OneSeries("loss", {{1, 1.0}, {2, 2.0}}));
  SetEnd(kEnd);
  const std::vector<EndedJob> jobs = store_->reader().UnthinnedJobs(INT64_MAX).value();
  ASSERT_EQ(jobs.size(), 1u);
  SetEnd(0);
  WriteBatch late;
  late.ThinChunks(kJob, {.end_time = jobs[0].end_time, .up_to = 1, .deleted = {1}});
  EXPECT_EQ(store_->CommitAndWait(std::move(late)).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Points("loss").size(), 2u);
}

TEST_F(RetentionTest, AJobThatIsResumedHalfThinnedIsSummedUpAgain) {
  Add(1, 0, OneSeries("loss", {{1, 9.0}, {2, 2.0}}));
  SetEnd(kEnd);
  WriteBatch half;
  half.ThinChunks(
      kJob,
      {.end_time = kEnd * 1'000'000, .up_to = 1, .replaced = {{1, OneSeries("loss", {{2, 2.0}}).SerializeAsString()}}});
  ASSERT_TRUE(store_->CommitAndWait(std::move(half)).ok());
  SetEnd(0);
  Add(2, 2, OneSeries("loss", {{3, 3.0}}));
  const auto list = ListSeries(store_->reader(), kJob);
  EXPECT_EQ(list->series(0).count(), 2);
  EXPECT_EQ(list->series(0).max(), 3.0);
}

TEST_F(RetentionTest, ADamagedBatchDoesNotKeepOthersFromIt) {
  Add(1, 0, OneSeries("loss", {{1, 1.0}, {2, 2.0}}));
  WriteBatch batch;
  JobRecord damaged;
  damaged.job.set_id("0000000damaged");
  damaged.job.mutable_end_time()->set_seconds(kEnd);
  batch.PutJob(damaged);
  batch.AddChunk(damaged.job.id(), {1, 1, 0, "x"});
  batch.AddChunk(damaged.job.id(), {2, 2, 0, "x"});
  ASSERT_TRUE(store_->CommitAndWait(std::move(batch)).ok());
  Add(2, 1, OneSeries("loss", {{2, 3.0}}));
  SetEnd(kEnd);
  EXPECT_TRUE(RunAt(kEnd + 31 * kDay).ok());
  EXPECT_EQ(Points("loss", 1).size(), 1u);
}

TEST_F(RetentionTest, TheThreadBeginsAtOnceAndEnds) {
  Add(1, 0, OneSeries("loss", {{1, 1.0}, {2, 2.0}}));
  Add(2, 1, OneSeries("loss", {{2, 3.0}}));
  SetEnd(kEnd);
  clock_.seconds = kEnd + 31 * kDay;
  {
    MetricRetention retention(*store_, clock_, 30);
    retention.StartThread();
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    while (Points("loss", 1).size() == 2 && absl::Now() < deadline) std::this_thread::yield();
  }
  EXPECT_EQ(Points("loss", 1).size(), 1u);
}

}  // namespace
}  // namespace ddp
