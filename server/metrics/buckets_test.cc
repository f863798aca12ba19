#include "server/metrics/buckets.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ddp {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const XAxis kSteps = *XAxis::Make(v1::X_AXIS_STEP, 0, 0);
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(BucketsTest, ExactNumbersOfUnequalBuckets) {
  // 5 points in 2 buckets: [0,2) and [2,5).
  const std::vector<Point> points = {{1, 0, 4.0}, {2, 0, 2.0}, {3, 0, 10.0}, {4, 0, -1.0}, {9, 0, 3.0}};
  const std::vector<v1::Bucket> buckets = Bucketize(points, 2, kSteps);
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets[0].first_step(), 1);
  EXPECT_EQ(buckets[0].last_step(), 2);
  EXPECT_EQ(buckets[0].min(), 2.0);
  EXPECT_EQ(buckets[0].max(), 4.0);
  EXPECT_EQ(buckets[0].first(), 4.0);
  EXPECT_EQ(buckets[0].last(), 2.0);
  EXPECT_EQ(buckets[0].mean(), 3.0);
  EXPECT_EQ(buckets[0].count(), 2);
  EXPECT_EQ(buckets[1].first_step(), 3);
  EXPECT_EQ(buckets[1].last_step(), 9);
  EXPECT_EQ(buckets[1].min(), -1.0);
  EXPECT_EQ(buckets[1].max(), 10.0);
  EXPECT_EQ(buckets[1].mean(), 4.0);
  EXPECT_EQ(buckets[1].count(), 3);
  EXPECT_EQ(buckets[1].non_finite(), 0);
}

TEST(BucketsTest, NonFiniteValuesAreCountedAndKeptOutOfTheArithmetic) {
  const std::vector<v1::Bucket> buckets =
      Bucketize(std::vector<Point>{{1, 0, kNan}, {2, 0, 6.0}, {3, 0, kInf}, {4, 0, 2.0}, {5, 0, -kInf}}, 1, kSteps);
  ASSERT_EQ(buckets.size(), 1u);
  EXPECT_EQ(buckets[0].min(), 2.0);
  EXPECT_EQ(buckets[0].max(), 6.0);
  EXPECT_EQ(buckets[0].mean(), 4.0);
  EXPECT_EQ(buckets[0].count(), 5);
  EXPECT_EQ(buckets[0].non_finite(), 3);
  EXPECT_TRUE(std::isnan(buckets[0].first()));
  EXPECT_EQ(buckets[0].last(), -kInf);
}

TEST(BucketsTest, ABucketWithoutFiniteValuesHasNoRange) {
  const std::vector<v1::Bucket> buckets = Bucketize(std::vector<Point>{{7, 0, kNan}}, 10, kSteps);
  ASSERT_EQ(buckets.size(), 1u);
  EXPECT_TRUE(std::isnan(buckets[0].min()));
  EXPECT_TRUE(std::isnan(buckets[0].max()));
  EXPECT_TRUE(std::isnan(buckets[0].mean()));
  EXPECT_EQ(buckets[0].non_finite(), 1);
}

TEST(BucketsTest, ASpikeAmongAMillionPointsSurvives) {
  std::vector<Point> points(1000000);
  for (size_t i = 0; i < points.size(); ++i) points[i] = {static_cast<int64_t>(i), 0, 1.0};
  points[654321].value = 99.0;
  const std::vector<v1::Bucket> buckets = Bucketize(points, 100, kSteps);
  ASSERT_EQ(buckets.size(), 100u);
  int64_t count = 0;
  for (int i = 0; i < 100; ++i) {
    count += buckets[i].count();
    EXPECT_EQ(buckets[i].max(), i == 65 ? 99.0 : 1.0) << i;
  }
  EXPECT_EQ(count, 1000000);
}

TEST(BucketsTest, FewerPointsThanBucketsGiveOneBucketEach) {
  const std::vector<v1::Bucket> buckets = Bucketize(std::vector<Point>{{1, 0, 5.0}, {100, 0, 6.0}}, 1000, kSteps);
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets[1].first_step(), 100);
  EXPECT_TRUE(Bucketize({}, 10, kSteps).empty());
}

}  // namespace
}  // namespace ddp
