#include "worker/report/runner_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "common/framing.h"
#include "ddp/v1/worker.pb.h"
#include "worker/report/played_runner.h"

namespace ddp {
namespace {

class RunnerLinkTest : public ::testing::Test {
 protected:
  // The ends stay open: a link takes the end of its socket for the end of its runner, and leaves the process.
  RunnerLinkTest() {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0);
    EXPECT_TRUE(WriteFrame(ends_[0], LeastStart()).ok());
    WorkerConfig config;
    auto link = RunnerLink::Open(ends_[1], &config);
    EXPECT_TRUE(link.ok()) << link.status();
    link_ = *std::move(link);
  }

  v1::WorkerEvent Read() {
    const auto frame = ReadFrame(ends_[0]);
    v1::WorkerEvent event;
    EXPECT_TRUE(frame.ok() && *frame && event.ParseFromString(**frame));
    return event;
  }

  int ends_[2] = {-1, -1};
  std::unique_ptr<RunnerLink> link_;
};

HistogramReport Report(int64_t step) {
  HistogramReport report{.series = "grad/w", .step = step, .min = -1.5, .max = 2.5, .non_finite = 3};
  for (int i = 0; i < HistogramReport::kBins; ++i) report.counts[static_cast<size_t>(i)] = i * i;
  return report;
}

TEST_F(RunnerLinkTest, HistogramsLeaveWithThePointsAndBeforeTheNextReport) {
  const int loss = link_->SeriesIndex("loss");
  link_->Metric(loss, 7, 0.5);
  link_->Histogram(Report(7));
  link_->FirstStep(7);
  v1::MetricBatch all;
  for (v1::WorkerEvent event = Read(); !event.has_first_step(); event = Read()) all.MergeFrom(event.metrics());
  ASSERT_EQ(all.columns_size(), 1);
  EXPECT_EQ(all.columns(0).value(0), 0.5);
  ASSERT_EQ(all.histograms_size(), 1);
  const v1::Histogram& histogram = all.histograms(0);
  EXPECT_EQ(histogram.series(), "grad/w");
  EXPECT_EQ(histogram.step(), 7);
  EXPECT_GE(histogram.time(), all.columns(0).time(0));
  EXPECT_EQ(histogram.min(), -1.5);
  EXPECT_EQ(histogram.max(), 2.5);
  EXPECT_EQ(histogram.non_finite(), 3);
  ASSERT_EQ(histogram.counts_size(), 64);
  EXPECT_EQ(histogram.counts(63), 63 * 63);
}

TEST_F(RunnerLinkTest, ALoneHistogramLeavesByItself) {
  link_->Histogram(Report(1));
  EXPECT_EQ(Read().metrics().histograms(0).step(), 1);
}

TEST_F(RunnerLinkTest, ATextLeavesByItself) {
  link_->Text({.series = "samples", .step = 7, .text = "1. a Zürich line\n"});
  const v1::WorkerEvent event = Read();
  ASSERT_EQ(event.metrics().texts_size(), 1);
  EXPECT_EQ(event.metrics().texts(0).series(), "samples");
  EXPECT_EQ(event.metrics().texts(0).step(), 7);
  EXPECT_EQ(event.metrics().texts(0).text(), "1. a Zürich line\n");
  EXPECT_GT(event.metrics().texts(0).time(), 1.6e9);
}

TEST_F(RunnerLinkTest, AwaitRecordedReturnsWhenTheRunnerHasThePointsBeforeIt) {
  const int loss = link_->SeriesIndex("loss");
  for (uint64_t round = 1; round <= 2; ++round) {
    link_->Metric(loss, static_cast<int64_t>(round), 0.25);
    std::atomic<bool> returned = false;
    std::thread waiter([&] {
      link_->AwaitRecorded();
      returned = true;
    });
    EXPECT_EQ(Read().metrics().columns(0).step(0), static_cast<int64_t>(round));
    EXPECT_EQ(Read().sync(), round);
    EXPECT_FALSE(returned);
    v1::WorkerCommand command;
    command.set_recorded(round);
    EXPECT_TRUE(WriteFrame(ends_[0], command.SerializeAsString()).ok());
    waiter.join();
  }
}

TEST_F(RunnerLinkTest, ManyHistogramsAreCutIntoEventsOfAThousand) {
  // The reader is slow, so that they pile up.
  for (int64_t step = 1; step <= 20000; ++step) link_->Histogram(Report(step));
  int64_t last = 0;
  while (last < 20000) {
    const v1::WorkerEvent event = Read();
    EXPECT_LE(event.metrics().histograms_size(), 1000);
    EXPECT_LE(event.ByteSizeLong(), size_t{1} << 20);
    for (const v1::Histogram& histogram : event.metrics().histograms()) EXPECT_EQ(histogram.step(), ++last);
  }
}

}  // namespace
}  // namespace ddp
