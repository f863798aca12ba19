#include "client/plot/spark.h"

#include <gtest/gtest.h>

#include <limits>

#include "client/columns.h"

namespace ddp {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(SparkTest, EighthsBetweenTheSmallestAndTheLargest) {
  Spark spark;
  for (int i = 0; i < 8; ++i) spark.Add(i + 1, i);
  EXPECT_EQ(spark.Text(20, Glyphs::kUnicode), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(spark.Text(20, Glyphs::kAscii), "_.-~=+*#");
  // Two steps in a column: 1, 3, 5, 7 of 0..7 are the eighths 1, 3, 5, 8.
  EXPECT_EQ(spark.Text(4, Glyphs::kUnicode), "▂▄▆█");
  EXPECT_EQ(spark.Text(0, Glyphs::kUnicode), "");
}

TEST(SparkTest, NothingToDraw) {
  Spark spark;
  EXPECT_EQ(spark.Text(9, Glyphs::kUnicode), "");
  spark.Add(1, 5);
  EXPECT_EQ(spark.Text(9, Glyphs::kUnicode), "");
  spark.Add(2, 5);
  EXPECT_EQ(spark.Text(9, Glyphs::kUnicode), "▅▅");
}

TEST(SparkTest, NoSpikeAndNoNanIsLostAmongAMillionSteps) {
  Spark spark;
  for (int step = 0; step < 1000000; ++step) spark.Add(step, step == 250000 ? 100 : step == 700000 ? kNan : 0);
  EXPECT_EQ(spark.Text(10, Glyphs::kUnicode), "▁▁█▁▁▁!▁▁▁");
}

TEST(SparkTest, AResumedJobSupersedesItsLaterSteps) {
  Spark spark;
  for (int step = 1; step <= 8; ++step) spark.Add(step, step <= 4 ? 1 : 9);
  for (int step = 5; step <= 8; ++step) spark.Add(step, 0);
  EXPECT_EQ(spark.Text(8, Glyphs::kUnicode), "████▁▁▁▁");
}

TEST(SparkTest, NeverWiderThanWanted) {
  Spark spark;
  for (int step = 1; step <= 1000; ++step) {
    spark.Add(step * step, step % 7);
    EXPECT_LE(Columns(spark.Text(13, Glyphs::kUnicode)), 13);
  }
}

}  // namespace
}  // namespace ddp
