#include "server/metrics/merged_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "server/store/testing.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<std::pair<int64_t, double>> Values(const std::vector<Point>& points) {
  std::vector<std::pair<int64_t, double>> values;
  for (const Point& point : points) values.emplace_back(point.step, point.value);
  return values;
}

TEST(MergedViewTest, AResumedAttemptSupersedesWhatLiesAfterItsStart) {
  MergedView view;
  view.Add(1, 0, OneSeries("loss", {{1, 1.1}, {2, 1.2}, {3, 1.3}, {4, 1.4}}).SerializeAsString());
  view.Add(1, 0, OneSeries("valid_loss", {{2, 9.2}, {4, 9.4}}).SerializeAsString());
  view.Add(2, 2, OneSeries("loss", {{3, 2.3}}).SerializeAsString());
  const auto merged = std::move(view).Take();
  EXPECT_THAT(Values(merged.at("loss")), ElementsAre(Pair(1, 1.1), Pair(2, 1.2), Pair(3, 2.3)));
  // Also the series that the second attempt has not written yet.
  EXPECT_THAT(Values(merged.at("valid_loss")), ElementsAre(Pair(2, 9.2)));
}

TEST(MergedViewTest, AThirdAttemptFromFurtherBackSupersedesBoth) {
  MergedView view;
  view.Add(1, 0, OneSeries("loss", {{1, 1.1}, {2, 1.2}, {3, 1.3}}).SerializeAsString());
  view.Add(2, 2, OneSeries("loss", {{3, 2.3}, {4, 2.4}}).SerializeAsString());
  view.Add(4, 1, OneSeries("loss", {{2, 4.2}}).SerializeAsString());
  EXPECT_THAT(Values(std::move(view).Take().at("loss")), ElementsAre(Pair(1, 1.1), Pair(2, 4.2)));
}

TEST(MergedViewTest, PointsOutOfOrderAreSortedAndEqualStepsKeepTheirOrder) {
  MergedView view;
  view.Add(1, 0, OneSeries("acc", {{5, 0.5}, {3, 0.3}}).SerializeAsString());
  view.Add(1, 0, OneSeries("acc", {{5, 0.55}}).SerializeAsString());
  EXPECT_THAT(Values(std::move(view).Take().at("acc")), ElementsAre(Pair(3, 0.3), Pair(5, 0.5), Pair(5, 0.55)));
}

TEST(MergedViewTest, AColumnOfUnequalLengthsIsCutToTheShortest) {
  v1::MetricBatch batch = OneSeries("lr", {{1, 0.1}, {2, 0.2}});
  batch.mutable_columns(0)->add_step(3);
  MergedView view;
  view.Add(1, 0, batch.SerializeAsString());
  EXPECT_EQ(std::move(view).Take().at("lr").size(), 2u);
}

TEST(MergedViewTest, OnlyTheWantedSeriesAndNothingUnreadable) {
  MergedView view({"loss"});
  EXPECT_TRUE(view.Add(1, 0, OneSeries("loss", {{1, 1.1}}).SerializeAsString()));
  EXPECT_TRUE(view.Add(1, 0, OneSeries("lr", {{1, 1.1}}).SerializeAsString()));
  EXPECT_FALSE(view.Add(1, 0, "no batch"));
  const auto merged = std::move(view).Take();
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_THAT(Values(merged.at("loss")), ElementsAre(Pair(1, 1.1)));
}

}  // namespace
}  // namespace ddp
