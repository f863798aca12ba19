#include "client/exchange/run_reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "client/exchange/event_writer.h"
#include "client/exchange/records.h"

namespace ddp {
namespace {

namespace fs = std::filesystem;

class RunReaderTest : public testing::Test {
 protected:
  RunReaderTest()
      : folder_(fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~RunReaderTest() override { fs::remove_all(folder_); }

  void Write(const std::string& name, const std::string& bytes) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << VersionRecord(1) << bytes;
  }
  RunReport Read() {
    all_.Clear();
    const auto runs = FindRuns(folder_.string());
    EXPECT_TRUE(runs.ok() && runs->size() == 1);
    auto report = ReadRun((*runs)[0], [this](const v1::ImportMetricsBatch& batch) {
      all_.MergeFrom(batch);
      return absl::OkStatus();
    });
    EXPECT_TRUE(report.ok()) << report.status();
    return *report;
  }
  // step:value of a series
  std::string Points(const std::string& series) {
    std::ostringstream text;
    for (const v1::MetricColumn& column : all_.columns()) {
      for (int i = 0; i < column.step_size() && column.series() == series; ++i) {
        text << column.step(i) << ":" << column.value(i) << " ";
      }
    }
    return text.str();
  }
  static std::string Scalar(const std::string& tag, int64_t step, double value) {
    return ScalarRecord(tag, step, 10, value, false);
  }

  const fs::path folder_;
  v1::ImportMetricsBatch all_;
};

TEST_F(RunReaderTest, WhatWasWrittenIsReadAgain) {
  v1::Histogram histogram;
  histogram.set_series("grad/w");
  histogram.set_step(4);
  histogram.set_time(1.25);
  histogram.set_min(-0.3);
  histogram.set_max(0.7);
  for (int i = 0; i < 64; ++i) histogram.add_counts(i * i);
  v1::Text text;
  text.set_series("note");
  text.set_step(5);
  text.set_text("ü\nline");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Write("events.out.tfevents.1.h", ScalarRecord("exact", 1, 1.5, 0.1, true) + ScalarRecord("exact", 2, 2.5, nan, true) +
                                       ScalarRecord("float", 1, 1.5, 0.1, false) + HistogramRecord(histogram) +
                                       TextRecord(text));
  const RunReport report = Read();
  EXPECT_EQ(report.points, 3);
  EXPECT_TRUE(report.notices.empty());
  ASSERT_EQ(all_.columns_size(), 2);
  EXPECT_EQ(all_.columns(0).value(0), 0.1);
  EXPECT_EQ(all_.columns(0).time(1), 2.5);
  EXPECT_TRUE(std::isnan(all_.columns(0).value(1)));
  EXPECT_EQ(all_.columns(1).value(0), 0.1F);
  ASSERT_EQ(all_.histograms_size(), 1);
  EXPECT_EQ(all_.histograms(0).SerializeAsString(), histogram.SerializeAsString());
  ASSERT_EQ(all_.texts_size(), 1);
  EXPECT_EQ(all_.texts(0).SerializeAsString(), text.SerializeAsString());
}

TEST_F(RunReaderTest, ASmallerStepSupersedesItsSeriesFromThereOn) {
  Write("events.out.tfevents.1.h", Scalar("a", 1, 1) + Scalar("a", 2, 2) + Scalar("b", 9, 9) + Scalar("a", 3, 3));
  Write("events.out.tfevents.2.h", Scalar("a", 2, 20) + Scalar("a", 5, 50));
  EXPECT_EQ(Read().superseded, 2);
  EXPECT_EQ(Points("a"), "1:1 2:20 5:50 ");
  EXPECT_EQ(Points("b"), "9:9 ");
}

TEST_F(RunReaderTest, ARestartSupersedesAllSeries) {
  Write("events.out.tfevents.1.h",
        Scalar("a", 1, 1) + Scalar("a", 7, 7) + Scalar("b", 6, 6) + RestartRecord(6, 2) + Scalar("a", 9, 90));
  EXPECT_EQ(Read().superseded, 2);
  EXPECT_EQ(Points("a"), "1:1 9:90 ");
  EXPECT_EQ(Points("b"), "");
}

TEST_F(RunReaderTest, DamageCostsARecordATornTailNothingElse) {
  std::string damaged = Scalar("a", 2, 2);
  damaged[15] ^= 1;
  Write("events.out.tfevents.1.h", Scalar("a", 1, 1) + damaged + Scalar("a", 3, 3) + Scalar("a", 4, 4).substr(0, 9));
  const RunReport report = Read();
  EXPECT_EQ(Points("a"), "1:1 3:3 ");
  ASSERT_EQ(report.notices.size(), 2);
  EXPECT_NE(report.notices[0].find("its last record is not complete"), std::string::npos);
  EXPECT_EQ(report.notices[1], "1 records with a wrong checksum left out");
}

TEST_F(RunReaderTest, AFileThatIsNoEventFile) {
  std::ofstream(folder_ / "x.tfevents") << std::string(100, 'z');
  const RunReport report = Read();
  EXPECT_EQ(report.points, 0);
  ASSERT_EQ(report.notices.size(), 1);
  EXPECT_NE(report.notices[0].find("byte 0: the checksum of a record's length is wrong"), std::string::npos);
}

TEST_F(RunReaderTest, EachFolderIsARun) {
  Write("events.out.tfevents.1.h", "");
  Write("train/events.out.tfevents.1.h", "");
  Write("train/events.out.tfevents.2.h", "");
  std::ofstream(folder_ / "readme.txt") << "no";
  const auto runs = FindRuns(folder_.string());
  ASSERT_TRUE(runs.ok());
  ASSERT_EQ(runs->size(), 2);
  EXPECT_EQ((*runs)[0].name, ".");
  EXPECT_EQ((*runs)[1].name, "train");
  EXPECT_EQ((*runs)[1].files.size(), 2);
  EXPECT_EQ(FindRuns((folder_ / "nothing").string()).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RunReaderTest, ManyPointsComeInPieces) {
  std::string bytes;
  for (int i = 0; i < 100000; ++i) bytes += Scalar("a", i, i);
  Write("events.out.tfevents.1.h", bytes);
  int pieces = 0, points = 0;
  const auto report = ReadRun((*FindRuns(folder_.string()))[0], [&](const v1::ImportMetricsBatch& batch) {
    ++pieces;
    points += batch.columns(0).step_size();
    EXPECT_LT(batch.ByteSizeLong(), size_t{3} << 20);
    return absl::OkStatus();
  });
  EXPECT_EQ(points, 100000);
  EXPECT_GT(pieces, 1);
}

TEST(RestartsTest, OnlyWhatComesLaterSupersedes) {
  Restarts restarts;
  const int64_t steps[] = {0, 5, 1, 5, 2, 5, 3, 3};
  for (uint64_t i = 0; i < 8; ++i) restarts.Saw(i, steps[i]);
  std::string stays;
  for (uint64_t i = 0; i < 8; ++i) stays += restarts.Stays(i, steps[i]) ? "x" : ".";
  EXPECT_EQ(stays, "x.x.x..x");
}

}  // namespace
}  // namespace ddp
