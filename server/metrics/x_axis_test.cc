#include "server/metrics/x_axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace ddp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<int64_t> Steps(absl::Span<const Point> points) {
  std::vector<int64_t> steps;
  for (const Point& point : points) steps.push_back(point.step);
  return steps;
}

TEST(XAxisTest, EachAxis) {
  const Point point{30, 1700000012.5, 0.1};
  EXPECT_EQ(XAxis::Make(v1::X_AXIS_UNSPECIFIED, 0, 0)->At(point), 30);
  EXPECT_EQ(XAxis::Make(v1::X_AXIS_STEP, 8, 5)->At(point), 30);
  EXPECT_EQ(XAxis::Make(v1::X_AXIS_EPOCH, 8, 5)->At(point), 3.75);
  EXPECT_EQ(XAxis::Make(v1::X_AXIS_WALL_TIME, 8, 5)->At(point), 1700000012.5);
  EXPECT_EQ(XAxis::Make(v1::X_AXIS_RELATIVE_TIME, 8, 1700000000)->At(point), 12.5);
}

TEST(XAxisTest, WhatCannotBe) {
  const absl::Status no_epochs = XAxis::Make(v1::X_AXIS_EPOCH, 0, 0).status();
  EXPECT_EQ(no_epochs.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(no_epochs.message()), HasSubstr("X_AXIS_STEP"));
  EXPECT_THAT(std::string(XAxis::Make(static_cast<v1::XAxis>(77), 1, 0).status().message()), HasSubstr("x_axis is 77"));
}

TEST(XAxisTest, RangesAreInclusive) {
  std::vector<Point> points = {{1, 10, 0}, {2, 11, 0}, {3, 12, 0}, {4, 13, 0}};
  const XAxis epochs = *XAxis::Make(v1::X_AXIS_EPOCH, 2, 0);
  EXPECT_THAT(Steps(epochs.Range(points, 1, 1.5)), ElementsAre(2, 3));
  EXPECT_THAT(Steps(epochs.Range(points, 0.6, 1.4)), ElementsAre(2));
  EXPECT_THAT(Steps(epochs.Range(points, 3, 1)), ElementsAre());
  const XAxis relative = *XAxis::Make(v1::X_AXIS_RELATIVE_TIME, 0, 10);
  EXPECT_THAT(Steps(relative.Range(points, 1, 2)), ElementsAre(2, 3));
  EXPECT_THAT(Steps(relative.Range(points, -kInf, kInf)), ElementsAre(1, 2, 3, 4));
}

TEST(XAxisTest, AlongTimeWhatWasTrainedAgainComesLater) {
  // Steps 2 and 3 once more after a rollback.
  std::vector<Point> points = {{1, 10, 0}, {2, 11, 0}, {2, 13, 0}, {3, 12, 0}, {3, 14, 0}};
  const XAxis time = *XAxis::Make(v1::X_AXIS_WALL_TIME, 0, 0);
  EXPECT_THAT(Steps(time.Range(points, 10, 14)), ElementsAre(1, 2, 3, 2, 3));
  EXPECT_THAT(Steps(time.Range(points, 12, 13)), ElementsAre(3, 2));
}

TEST(StepsPerEpochTest, TheNewestAttemptThatHasSaidIt) {
  v1::Job job;
  EXPECT_EQ(StepsPerEpoch(job), 0);
  (*job.add_attempts()->mutable_facts())["steps_per_epoch"] = "29";
  (*job.add_attempts()->mutable_facts())["steps_per_epoch"] = "58";
  job.add_attempts();  // has only been started
  EXPECT_EQ(StepsPerEpoch(job), 58);
  (*job.add_attempts()->mutable_facts())["steps_per_epoch"] = "many";
  EXPECT_EQ(StepsPerEpoch(job), 58);
}

}  // namespace
}  // namespace ddp
