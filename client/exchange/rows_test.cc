#include "client/exchange/rows.h"

#include <gtest/gtest.h>

#include <limits>

namespace ddp {
namespace {

v1::MetricColumn Column(const std::string& series, const std::vector<double>& values) {
  v1::MetricColumn column;
  column.set_series(series);
  for (size_t i = 0; i < values.size(); ++i) {
    column.add_step(static_cast<int64_t>(i));
    column.add_time(1.5);
    column.add_value(values[i]);
  }
  return column;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(RowsTest, Csv) {
  EXPECT_EQ(CsvRows(Column("loss", {0.1, std::numeric_limits<double>::quiet_NaN(), -kInfinity, 1e300}), 2),
            "2,loss,0,1.5,0.1\n2,loss,1,1.5,nan\n2,loss,2,1.5,-inf\n2,loss,3,1.5,1e+300\n");
  EXPECT_EQ(CsvField("a,\"b\"\nc"), "\"a,\"\"b\"\"\nc\"");
}

TEST(RowsTest, EveryDoubleIsReadAgainAsItself) {
  for (const double value : {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, 123456789.123456789}) {
    EXPECT_EQ(std::stod("0" + NumberText(std::abs(value) < 1e-300 ? 0.1 : std::abs(value))),
              std::abs(value) < 1e-300 ? 0.1 : std::abs(value));
  }
  EXPECT_EQ(NumberText(5e-324), "5e-324");
  EXPECT_EQ(NumberText(-0.0), "-0");
}

TEST(RowsTest, JsonLines) {
  EXPECT_EQ(JsonLines(Column("a\"\n", {0.25, kInfinity}), 0),
            "{\"type\":\"scalar\",\"attempt\":0,\"series\":\"a\\\"\\n\",\"step\":0,\"time\":1.5,\"value\":0.25}\n"
            "{\"type\":\"scalar\",\"attempt\":0,\"series\":\"a\\\"\\n\",\"step\":1,\"time\":1.5,\"value\":\"inf\"}\n");
  v1::Histogram histogram;
  histogram.set_series("h");
  histogram.set_step(3);
  histogram.set_time(2);
  histogram.set_max(1);
  histogram.add_counts(4);
  histogram.add_counts(5);
  EXPECT_EQ(JsonLine(histogram),
            "{\"type\":\"histogram\",\"series\":\"h\",\"step\":3,\"time\":2,\"min\":0,\"max\":1,\"counts\":[4,5],"
            "\"non_finite\":0}\n");
  v1::Text text;
  text.set_series("t");
  text.set_text("ü");
  EXPECT_EQ(JsonLine(text), "{\"type\":\"text\",\"series\":\"t\",\"step\":0,\"time\":0,\"text\":\"ü\"}\n");
}

}  // namespace
}  // namespace ddp
