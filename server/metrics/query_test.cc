#include "server/metrics/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "server/metrics/store_fixture.h"
#include "server/metrics/testing.h"

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
    request.set_job_id(kJob);
    return QueryMetrics(store_->reader(), request);
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

}  // namespace
}  // namespace ddp
