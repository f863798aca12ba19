#include "server/metrics/merged_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ddp {
namespace {

using ::testing::ElementsAre;

std::shared_ptr<v1::StreamMetricsResponse> Batch(uint64_t seq, int32_t attempt) {
  auto batch = std::make_shared<v1::StreamMetricsResponse>();
  batch->set_seq(seq);
  batch->set_attempt(attempt);
  batch->set_attempt_start_step(5);
  return batch;
}

void Add(v1::StreamMetricsResponse& batch, const std::string& series, int64_t step, double time, double value) {
  v1::MetricColumn& column = *batch.add_columns();
  column.set_series(series);
  column.add_step(step);
  column.add_time(time);
  column.add_value(value);
}

TEST(MergeBatches, KeepsEveryPointInItsOrder) {
  const auto first = Batch(7, 2);
  Add(*first, "loss", 10, 100.5, 0.5);
  Add(*first, "lr", 10, 100.5, 1e-3);
  const auto second = Batch(8, 2);
  Add(*second, "acc", 11, 101.5, 0.25);
  Add(*second, "loss", 11, 101.5, 0.375);
  const v1::StreamMetricsResponse merged = MergeBatches({first, second});
  EXPECT_EQ(merged.seq(), 8u);
  EXPECT_EQ(merged.attempt(), 2);
  EXPECT_EQ(merged.attempt_start_step(), 5);
  EXPECT_EQ(merged.lagged_from(), 0u);
  ASSERT_EQ(merged.columns_size(), 3);
  EXPECT_EQ(merged.columns(0).series(), "loss");
  EXPECT_THAT(merged.columns(0).step(), ElementsAre(10, 11));
  EXPECT_THAT(merged.columns(0).time(), ElementsAre(100.5, 101.5));
  EXPECT_THAT(merged.columns(0).value(), ElementsAre(0.5, 0.375));
  EXPECT_EQ(merged.columns(1).series(), "lr");
  EXPECT_EQ(merged.columns(2).series(), "acc");
  EXPECT_THAT(merged.columns(2).step(), ElementsAre(11));
}

TEST(CanFollow, OnlyWithinOneAttempt) {
  EXPECT_TRUE(CanFollow(*Batch(1, 1), *Batch(2, 1)));
  EXPECT_FALSE(CanFollow(*Batch(1, 1), *Batch(2, 2)));
  const auto other_start = Batch(2, 1);
  other_start->set_attempt_start_step(9);
  EXPECT_FALSE(CanFollow(*Batch(1, 1), *other_start));
}

}  // namespace
}  // namespace ddp
