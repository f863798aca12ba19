#include "server/store/raw_columns.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "server/store/testing.h"

namespace ddp {
namespace {

TEST(RawColumnsTest, WhatProtobufWroteBitForBit) {
  v1::MetricBatch batch = OneSeries("loss", {{0, 1.5}, {127, -0.0}, {128, std::nan("0x123")}, {1LL << 40, 1e308}});
  *batch.add_columns() = OneSeries("lr", {{7, -std::numeric_limits<double>::infinity()}}).columns(0);
  batch.add_columns()->set_series("empty");
  batch.add_texts()->set_text("skipped");
  int columns = 0;
  EXPECT_TRUE(ReadColumns(batch.SerializeAsString(), [&](const RawColumn& raw) {
    const v1::MetricColumn& column = batch.columns(columns++);
    EXPECT_EQ(raw.series, column.series());
    std::vector<Point> points;
    EXPECT_TRUE(AppendPoints(raw, points));
    EXPECT_EQ(points.size(), static_cast<size_t>(column.step_size()));
    for (int i = 0; i < column.step_size(); ++i) {
      EXPECT_EQ(points[i].step, column.step(i));
      EXPECT_EQ(points[i].time, column.time(i));
      EXPECT_EQ(std::bit_cast<uint64_t>(points[i].value), std::bit_cast<uint64_t>(column.value(i)));
    }
    return true;
  }));
  EXPECT_EQ(columns, 3);
}

TEST(RawColumnsTest, EarliestTime) {
  double earliest = 1005;
  EXPECT_TRUE(ReadColumns(OneSeries("loss", {{9, 0}, {3, 0}, {4, 0}}).SerializeAsString(), [&](const RawColumn& raw) {
    earliest = EarliestTime(raw, earliest);
    return true;
  }));
  EXPECT_EQ(earliest, 1003);
}

TEST(RawColumnsTest, EveryCutIsNoticedOrGivesWholeColumns) {
  const std::string whole = OneSeries("loss", {{1, 2.0}, {300, 3.0}}).SerializeAsString();
  const auto take = [](const RawColumn& raw) {
    std::vector<Point> points;
    return AppendPoints(raw, points);
  };
  EXPECT_TRUE(ReadColumns(whole, take));
  EXPECT_TRUE(ReadColumns("", take));
  for (size_t size = 1; size < whole.size(); ++size) EXPECT_FALSE(ReadColumns(whole.substr(0, size), take)) << size;
}

}  // namespace
}  // namespace ddp
