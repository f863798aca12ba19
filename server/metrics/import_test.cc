#include "server/metrics/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "server/metrics/query.h"
#include "server/store/store_fixture.h"
#include "server/store/testing.h"
#include "server/telemetry.h"

namespace ddp {
namespace {

using ::testing::HasSubstr;

v1::ImportMetricsRequest Header() {
  v1::ImportMetricsRequest message;
  message.mutable_header()->set_name("baseline");
  message.mutable_header()->set_source("runs/baseline");
  return message;
}

v1::ImportMetricsRequest Batch(const v1::MetricBatch& metrics) {
  v1::ImportMetricsRequest message;
  *message.mutable_batch()->mutable_columns() = metrics.columns();
  return message;
}

std::string Refused(const v1::ImportMetricsRequest& second) {
  MetricsImport import;
  EXPECT_TRUE(import.Take(Header()).ok());
  EXPECT_TRUE(import.Take(Batch(OneSeries("loss", {{1, 1.0}}))).ok());
  const absl::Status status = import.Take(second);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

class ImportTest : public StoreFixture {};

TEST_F(ImportTest, LongColumnsAreStoredInPiecesAndComeBackWhole) {
  std::vector<std::pair<int64_t, double>> points;
  for (int64_t step = 0; step < 25000; ++step) points.emplace_back(step, static_cast<double>(step) / 8);
  v1::ImportMetricsRequest rest = Batch(OneSeries("lr", {{24999, std::numeric_limits<double>::infinity()}}));
  v1::Histogram& histogram = *rest.mutable_batch()->add_histograms();
  histogram.set_series("grad/w");
  histogram.set_step(30000);
  histogram.add_counts(1);
  v1::Text& text = *rest.mutable_batch()->add_texts();
  text.set_series("sample");
  MetricsImport import;
  ASSERT_TRUE(import.Take(Header()).ok());
  ASSERT_TRUE(import.Take(Batch(OneSeries("loss", points))).ok());
  ASSERT_TRUE(import.Take(rest).ok());
  ASSERT_TRUE(import.Finish().ok());
  EXPECT_EQ(import.counts().points(), 25001);
  EXPECT_EQ(import.counts().histograms(), 1);
  EXPECT_EQ(import.counts().texts(), 1);
  EXPECT_EQ(import.last_step(), 30000);
  EXPECT_EQ(import.spec().name(), "baseline");
  EXPECT_EQ(import.spec().imported().source(), "runs/baseline");
  WriteBatch batch;
  import.AddTo(batch, kJob);
  ASSERT_TRUE(store_->CommitAndWait(std::move(batch)).ok());
  EXPECT_EQ(*store_->reader().LastChunk(kJob), 4u);  // 10,000 + 10,000 + 5,000, and lr
  v1::QueryMetricsRequest query;
  query.set_job_id(kJob);
  query.add_series("loss");
  const auto found = QueryMetrics(store_->reader(), query);
  ASSERT_EQ(found->columns(0).step_size(), 25000);
  for (int i = 0; i < 25000; ++i) ASSERT_EQ(found->columns(0).value(i), i / 8.0);
}

TEST_F(ImportTest, TheHashIsOfEverythingButTheRequestId) {
  const auto hash = [](const v1::ImportMetricsRequest& header, double value) {
    MetricsImport import;
    EXPECT_TRUE(import.Take(header).ok());
    EXPECT_TRUE(import.Take(Batch(OneSeries("loss", {{1, value}}))).ok());
    EXPECT_TRUE(import.Finish().ok());
    return import.hash();
  };
  v1::ImportMetricsRequest other = Header();
  other.mutable_header()->set_request_id("r");
  EXPECT_EQ(hash(Header(), 1), hash(other, 1));
  EXPECT_NE(hash(Header(), 1), hash(Header(), 2));
  other.mutable_header()->set_source("elsewhere");
  EXPECT_NE(hash(Header(), 1), hash(other, 1));
}

TEST(ImportErrorsTest, EachNamesItsMessageAndPlace) {
  v1::ImportMetricsRequest wrong = Batch(OneSeries("loss", {{1, 1.0}}));
  wrong.mutable_batch()->mutable_columns(0)->add_value(3);
  const uint64_t refused = telemetry.points_not_imported;
  EXPECT_THAT(Refused(wrong), HasSubstr("message 3, columns[0]: series \"loss\" has 1 steps, 1 times and 2 values"));
  EXPECT_EQ(telemetry.points_not_imported - refused, 2u);
  EXPECT_THAT(Refused(Batch(OneSeries("", {{1, 1.0}}))), HasSubstr("series is empty"));
  EXPECT_TRUE(MetricsImport().Take(Header()).ok());
  EXPECT_THAT(Refused(Batch(OneSeries(std::string(201, 's'), {}))), HasSubstr("has 201 bytes; at most 200"));
  EXPECT_THAT(Refused(Batch(OneSeries("loss", {{-1, 1.0}}))), HasSubstr("has step -1"));
  wrong = Batch(OneSeries("loss", {{7, 1.0}}));
  wrong.mutable_batch()->mutable_columns(0)->set_time(0, std::numeric_limits<double>::infinity());
  EXPECT_THAT(Refused(wrong), HasSubstr("has time inf at step 7"));
  wrong = {};
  v1::Histogram& histogram = *wrong.mutable_batch()->add_histograms();
  histogram.set_series("h");
  EXPECT_THAT(Refused(wrong), HasSubstr("histograms[0]: 0 counts"));
  histogram.add_counts(-1);
  EXPECT_THAT(Refused(wrong), HasSubstr("must not be negative"));
  histogram.set_min(2);
  EXPECT_THAT(Refused(wrong), HasSubstr("min 2 and max 0"));
  wrong = {};
  wrong.mutable_batch()->add_texts();
  EXPECT_THAT(Refused(wrong), HasSubstr("texts[0]: series is empty"));
  EXPECT_THAT(Refused(Header()), HasSubstr("message 3: it must be a batch"));
}

TEST(ImportErrorsTest, TheHeader) {
  EXPECT_EQ(MetricsImport().Finish().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(MetricsImport().Take(Batch({})).message()), HasSubstr("message 1: it must be the header"));
  v1::ImportMetricsRequest header = Header();
  header.mutable_header()->clear_source();
  EXPECT_THAT(std::string(MetricsImport().Take(header).message()), HasSubstr("source has 0 bytes"));
  header = Header();
  header.mutable_header()->set_name(std::string(201, 'n'));
  EXPECT_THAT(std::string(MetricsImport().Take(header).message()), HasSubstr("name: at most 200 bytes"));
  header = Header();
  header.mutable_header()->set_request_id(std::string(65, 'r'));
  EXPECT_THAT(std::string(MetricsImport().Take(header).message()), HasSubstr("request_id"));
}

TEST(ImportErrorsTest, TooMuch) {
  MetricsImport import;
  ASSERT_TRUE(import.Take(Header()).ok());
  const v1::ImportMetricsRequest batch = Batch(OneSeries("loss", {{1, 1.0}}));
  const size_t bytes = batch.batch().ByteSizeLong();
  EXPECT_TRUE(import.Take(batch, 2 * bytes).ok());
  EXPECT_TRUE(import.Take(batch, 2 * bytes).ok());
  EXPECT_EQ(import.Take(batch, 2 * bytes).code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace ddp
