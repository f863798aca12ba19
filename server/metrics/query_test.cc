#include "server/metrics/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <vector>

#include "server/store/store_fixture.h"
#include "server/store/testing.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class QueryTest : public StoreFixture {
 protected:
  void Add(int32_t attempt, int64_t start_step, const v1::MetricBatch& metrics) {
    WriteBatch batch;
    batch.AddChunk(kJob, {++seq_, attempt, start_step, metrics.SerializeAsString()});
    ASSERT_TRUE(store_->CommitAndWait(std::move(batch)).ok());
  }
  absl::StatusOr<v1::QueryMetricsResponse> Query(v1::QueryMetricsRequest request) {
    return QueryMetrics(store_->reader(), WithJob(std::move(request)));
  }
  static v1::QueryMetricsRequest WithJob(v1::QueryMetricsRequest request) {
    request.set_job_id(kJob);
    return request;
  }
  uint64_t seq_ = 0;
};

TEST_F(QueryTest, MergedViewSingleAttemptAndRange) {
  Add(1, 0, OneSeries("loss", {{1, 1.1}, {2, 1.2}, {3, 1.3}}));
  Add(1, 0, OneSeries("lr", {{1, 0.5}}));
  Add(2, 2, OneSeries("loss", {{3, 2.3}, {4, 2.4}}));

  v1::QueryMetricsRequest request;
  request.add_series("loss");
  auto merged = Query(request);
  ASSERT_TRUE(merged.ok()) << merged.status();
  ASSERT_EQ(merged->columns_size(), 1);
  EXPECT_THAT(merged->columns(0).step(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(merged->columns(0).value(), ElementsAre(1.1, 1.2, 2.3, 2.4));
  EXPECT_THAT(merged->columns(0).time(), ElementsAre(1001, 1002, 1003, 1004));

  request.set_attempt(1);  // the superseded tail stays readable under its attempt
  EXPECT_THAT(Query(request)->columns(0).value(), ElementsAre(1.1, 1.2, 1.3));
  request.set_attempt(0);
  request.set_from_step(2);
  request.set_to_step(3);
  EXPECT_THAT(Query(request)->columns(0).value(), ElementsAre(1.2, 2.3));
  request.set_max_buckets(1);
  const auto bucketed = Query(request);
  EXPECT_EQ(bucketed->columns_size(), 0);
  ASSERT_EQ(bucketed->buckets(0).buckets_size(), 1);
  EXPECT_EQ(bucketed->buckets(0).buckets(0).count(), 2);
  EXPECT_EQ(bucketed->buckets(0).buckets(0).max(), 2.3);
  EXPECT_EQ(Query({})->columns_size(), 2);  // all series
}

TEST_F(QueryTest, AlongEachAxis) {
  Add(1, 0, OneSeries("lr", {{1, 0.5}}));  // at 1001: the job's first point
  Add(1, 0, OneSeries("loss", {{2, 1.2}, {3, 1.3}, {4, 1.4}, {5, 1.5}}));
  v1::QueryMetricsRequest request;
  request.add_series("loss");
  request.set_max_buckets(2);
  request.set_x_axis(v1::X_AXIS_RELATIVE_TIME);
  request.set_from_x(2);
  const auto relative = QueryMetrics(store_->reader(), WithJob(request), 0);
  ASSERT_TRUE(relative.ok()) << relative.status();
  ASSERT_EQ(relative->buckets(0).buckets_size(), 2);  // steps 3 | 4, 5
  EXPECT_EQ(relative->buckets(0).buckets(0).first_x(), 2);
  EXPECT_EQ(relative->buckets(0).buckets(1).first_step(), 4);
  EXPECT_EQ(relative->buckets(0).buckets(1).first_x(), 3);
  EXPECT_EQ(relative->buckets(0).buckets(1).last_x(), 4);
  request.set_x_axis(v1::X_AXIS_EPOCH);
  request.set_from_x(0.75);
  request.set_to_x(1);
  EXPECT_EQ(QueryMetrics(store_->reader(), WithJob(request), 0).status().code(), absl::StatusCode::kFailedPrecondition);
  const auto epochs = QueryMetrics(store_->reader(), WithJob(request), 4);
  ASSERT_TRUE(epochs.ok()) << epochs.status();
  ASSERT_EQ(epochs->buckets(0).buckets_size(), 2);
  EXPECT_EQ(epochs->buckets(0).buckets(0).first_x(), 0.75);
  EXPECT_EQ(epochs->buckets(0).buckets(1).last_x(), 1);
}

TEST_F(QueryTest, TheSeqIsOfTheNewestBatch) {
  EXPECT_EQ(Query({})->seq(), 0u);
  Add(1, 0, OneSeries("loss", {{1, 1.0}}));
  Add(1, 0, OneSeries("lr", {{1, 1.0}}));
  v1::QueryMetricsRequest request;
  request.add_series("loss");
  request.set_attempt(7);
  EXPECT_EQ(Query(request)->seq(), 2u);
}

TEST_F(QueryTest, SeveralJobsAtOnce) {
  Add(1, 0, OneSeries("loss", {{1, 1.0}, {2, 3.0}}));
  v1::Job full;
  full.set_id(kJob);
  v1::Job empty;
  empty.set_id("0zzzzzzzzzzz");
  v1::QueryMetricsRequest query;
  query.set_max_buckets(1);
  const auto both = QueryJobs(store_->reader(), {empty, full}, query);
  ASSERT_TRUE(both.ok()) << both.status();
  ASSERT_EQ(both->jobs_size(), 2);
  EXPECT_EQ(both->jobs(0).buckets_size(), 0);
  EXPECT_EQ(both->jobs(1).buckets(0).buckets(0).mean(), 2.0);
  EXPECT_EQ(both->jobs(1).seq(), 1u);
  EXPECT_EQ(QueryJobs(store_->reader(), {full}, query, 10).status().code(), absl::StatusCode::kResourceExhausted);
  query.set_x_axis(v1::X_AXIS_EPOCH);
  EXPECT_THAT(std::string(QueryJobs(store_->reader(), {full}, query).status().message()),
              HasSubstr(std::string("job ") + kJob + ": "));
}

TEST_F(QueryTest, QuestionsAboutSeveralJobs) {
  const auto refused = [](const v1::QueryJobsRequest& request) {
    return std::string(ValidateQueryJobs(request).message());
  };
  v1::QueryJobsRequest request;
  EXPECT_THAT(refused(request), HasSubstr("query.max_buckets is 0"));
  request.mutable_query()->set_max_buckets(1);
  EXPECT_TRUE(ValidateQueryJobs(request).ok());
  request.mutable_query()->set_job_id(kJob);
  EXPECT_THAT(refused(request), HasSubstr("query.job_id"));
  for (int i = 0; i <= kMaxQueriedJobs; ++i) request.add_job_ids(kJob);
  EXPECT_THAT(refused(request), HasSubstr("job_ids has 201 entries"));
}

TEST_F(QueryTest, HistogramsAreListedBesidePoints) {
  Add(1, 0, OneSeries("loss", {{1, 1.0}}));
  v1::Histogram histogram;
  histogram.set_series("grad/w");
  WriteBatch batch;
  for (const int64_t step : {10, 20, 30}) {
    histogram.set_step(step);
    batch.AddHistograms(kJob, {1, 0, {histogram}});
  }
  batch.AddHistograms(kJob, {2, 20, {histogram}});  // step 30 once more
  ASSERT_TRUE(store_->CommitAndWait(std::move(batch)).ok());
  const auto list = ListSeries(store_->reader(), kJob);
  ASSERT_EQ(list->series_size(), 2);
  EXPECT_EQ(list->series(0).type(), v1::POINT_TYPE_SCALAR);
  EXPECT_EQ(list->series(1).series(), "grad/w");
  EXPECT_EQ(list->series(1).type(), v1::POINT_TYPE_HISTOGRAM);
  EXPECT_EQ(list->series(1).count(), 3);
  EXPECT_EQ(list->series(1).last_step(), 30);
}

TEST_F(QueryTest, NanKeepsItsBits) {
  Add(1, 0, OneSeries("loss", {{1, std::numeric_limits<double>::quiet_NaN()}, {2, -0.0}}));
  const auto all = Query({});
  EXPECT_TRUE(std::isnan(all->columns(0).value(0)));
  EXPECT_TRUE(std::signbit(all->columns(0).value(1)));
}

TEST_F(QueryTest, WrongRequestsNameTheField) {
  v1::QueryMetricsRequest request;
  request.set_max_buckets(kMaxBuckets + 1);
  EXPECT_THAT(std::string(Query(request).status().message()), HasSubstr("max_buckets is 100001"));
  request.set_max_buckets(0);
  request.set_from_step(-1);
  EXPECT_EQ(Query(request).status().code(), absl::StatusCode::kInvalidArgument);
  request.set_from_step(1);
  request.set_from_x(1);
  EXPECT_THAT(std::string(Query(request).status().message()), HasSubstr("from_x and to_x cannot be combined"));
  request.set_from_step(0);
  request.set_from_x(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(std::string(Query(request).status().message()), HasSubstr("not NaN"));
}

TEST_F(QueryTest, SummariesAreOfTheMergedView) {
  Add(1, 0, OneSeries("loss", {{1, 3.0}, {2, 1.0}, {3, 0.5}}));
  Add(2, 2, OneSeries("loss", {{3, 2.0}}));
  const auto list = ListSeries(store_->reader(), kJob);
  ASSERT_EQ(list->series_size(), 1);
  EXPECT_EQ(list->series(0).count(), 3);
  EXPECT_EQ(list->series(0).last(), 2.0);
  EXPECT_EQ(list->series(0).last_step(), 3);
  EXPECT_EQ(list->series(0).min(), 1.0);
  EXPECT_EQ(list->series(0).max(), 3.0);
}

// Whatever attempts do, the summaries are those of the points that Query gives.
TEST_F(QueryTest, SummariesAgreeWithThePoints) {
  std::mt19937 random(7);
  const auto below = [&random](int64_t limit) { return static_cast<int64_t>(random() % static_cast<uint64_t>(limit)); };
  int64_t start = 0;
  int32_t attempt = 1;
  int64_t step = 0;
  for (int event = 0; event < 200; ++event) {
    if (below(10) == 0) {
      ++attempt;
      step = start = below(2) == 0 ? step : below(step + 1);
    }
    v1::MetricBatch metrics;
    for (const char* series : {"a", "b", "c"}) {
      if (below(3) == 0) continue;
      v1::MetricColumn& column = *metrics.add_columns();
      column.set_series(series);
      for (int64_t points = below(4); points > 0; --points) {
        column.add_step(start + 1 + below(step + 5 - start));
        column.add_time(0);
        column.add_value(below(8) == 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(below(1000)));
        step = std::max(step, *column.step().rbegin());
      }
    }
    if (metrics.columns().empty()) continue;
    Add(attempt, start, metrics);
    const auto list = ListSeries(store_->reader(), kJob);
    const auto all = Query({});
    ASSERT_EQ(list->series_size(), all->columns_size());
    for (int i = 0; i < list->series_size(); ++i) {
      const v1::SeriesSummary& summary = list->series(i);
      const v1::MetricColumn& column = all->columns(i);
      std::vector<double> finite;
      std::copy_if(column.value().begin(), column.value().end(), std::back_inserter(finite),
                   [](double value) { return std::isfinite(value); });
      ASSERT_EQ(summary.series(), column.series());
      ASSERT_EQ(summary.count(), column.step_size());
      ASSERT_EQ(summary.non_finite(), column.step_size() - static_cast<int64_t>(finite.size()));
      ASSERT_EQ(std::isnan(summary.min()), finite.empty());
      if (!finite.empty()) {
        ASSERT_EQ(summary.min(), *std::min_element(finite.begin(), finite.end()));
        ASSERT_EQ(summary.max(), *std::max_element(finite.begin(), finite.end()));
      }
      if (column.step().empty()) continue;
      ASSERT_EQ(summary.last_step(), *column.step().rbegin());
      ASSERT_EQ(summary.last(), *column.value().rbegin());
    }
  }
  EXPECT_GT(attempt, 10);
}

}  // namespace
}  // namespace ddp
