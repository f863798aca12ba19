// A subscriber that stops reading for what a training says in a minute, beside one that reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

#include "ddp/v1/metric.grpc.pb.h"
#include "server/api/api_fixture.h"

namespace ddp {
namespace {

// A worker reports every 10 ms at most.
constexpr int64_t kBatchesOfAMinute = 6000;
constexpr int64_t kPointsOfABatch = 100;

size_t ResidentBytes() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm").ignore(64, ' ') >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// The batch's seq is its number; each of its points has its own step: (seq - 1) * 100 + 1 and so on.
v1::RunnerEvent Points(uint64_t event, int64_t seq) {
  v1::RunnerEvent result = Rig::Event(event);
  v1::MetricColumn& column = *result.mutable_from_rank()->mutable_event()->mutable_metrics()->add_columns();
  column.set_series("loss");
  for (int64_t i = 1; i <= kPointsOfABatch; ++i) {
    column.add_step((seq - 1) * kPointsOfABatch + i);
    column.add_time(1);
    column.add_value(0.5);
  }
  return result;
}

// Follows the steps that a stream hands out.
class Reader final {
 public:
  Reader(v1::MetricService::Stub& stub, grpc::ClientContext& context, const std::string& job) {
    request_.set_job_id(job);
    stream_ = stub.Stream(&context, request_);
  }
  // False at the end. Every step follows the one before, or a range that was announced as skipped.
  bool Read() {
    v1::StreamMetricsResponse message;
    if (!stream_->Read(&message)) return false;
    if (message.lagged_from() != 0) {
      EXPECT_EQ(static_cast<int64_t>(message.lagged_from() - 1) * kPointsOfABatch, last_step_);
      last_step_ = static_cast<int64_t>(message.seq()) * kPointsOfABatch;
      skipped_ += message.seq() - message.lagged_from() + 1;
      return true;
    }
    for (const int64_t step : message.columns(0).step()) EXPECT_EQ(step, ++last_step_);
    EXPECT_EQ(last_step_, static_cast<int64_t>(message.seq()) * kPointsOfABatch);
    return true;
  }
  int64_t last_step() const { return last_step_; }
  uint64_t skipped() const { return skipped_; }
  grpc::Status Finish() { return stream_->Finish(); }

 private:
  v1::StreamMetricsRequest request_;
  std::unique_ptr<grpc::ClientReader<v1::StreamMetricsResponse>> stream_;
  int64_t last_step_ = 0;
  uint64_t skipped_ = 0;
};

TEST_F(ApiTest, ASubscriberThatStopsReadingForAMinute) {
  const std::string id = Submit();
  Runner runner(channel_, rig_.Hello(id));
  ASSERT_TRUE(runner.attached());
  ASSERT_TRUE(runner.Send(Rig::FirstStep(1)));
  uint64_t event = 1;
  ASSERT_TRUE(runner.Send(Points(++event, 1)));
  ASSERT_TRUE(runner.WaitAcked(event));

  const auto stub = v1::MetricService::NewStub(channel_);
  // A connection of its own, as from another machine.
  grpc::ChannelArguments alone;
  alone.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto slow_stub = v1::MetricService::NewStub(
      grpc::CreateCustomChannel(server_->address(), grpc::InsecureChannelCredentials(), alone));
  const auto slow_context = Context();
  Reader slow(*slow_stub, *slow_context, id);
  ASSERT_TRUE(slow.Read());

  std::mutex mutex;
  std::condition_variable changed;
  int64_t fast_step = 0;
  uint64_t fast_skipped = 0;
  grpc::Status fast_status;
  std::thread reader([&] {
    const auto context = Context();
    Reader fast(*stub, *context, id);
    while (fast.Read()) {
      std::lock_guard lock(mutex);
      fast_step = fast.last_step();
      fast_skipped = fast.skipped();
      changed.notify_all();
    }
    fast_status = fast.Finish();
  });
  const size_t before = ResidentBytes();
  for (int64_t seq = 2; seq <= kBatchesOfAMinute; ++seq) {
    ASSERT_TRUE(runner.Send(Points(++event, seq)));
    if (seq % 100 != 0) continue;
    // The other one has each second's points before the next second begins.
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(20), [&] { return fast_step == seq * kPointsOfABatch; }));
  }
  ASSERT_TRUE(runner.WaitAcked(event));
  // What was not read has 14 MB. Kept are the newest batches, once for all, and what is on its way in the connection.
  constexpr size_t kKept = MetricHub::kDefaultQueueLimit * kPointsOfABatch * 40;
  EXPECT_LT(ResidentBytes(), before + kKept + (size_t{16} << 20));

  ASSERT_TRUE(runner.Send(Rig::Ended(++event, v1::ATTEMPT_OUTCOME_SUCCEEDED, kBatchesOfAMinute, kBatchesOfAMinute)));
  ASSERT_TRUE(runner.WaitAcked(event));
  rig_.End(id);
  while (slow.Read()) {
  }
  EXPECT_TRUE(slow.Finish().ok());
  EXPECT_GT(slow.skipped(), 0u);
  EXPECT_LE(slow.skipped(), static_cast<uint64_t>(kBatchesOfAMinute) - MetricHub::kDefaultQueueLimit);
  EXPECT_EQ(slow.last_step(), kBatchesOfAMinute * kPointsOfABatch);
  reader.join();
  EXPECT_TRUE(fast_status.ok()) << fast_status.error_message();
  EXPECT_EQ(fast_skipped, 0u);
  EXPECT_EQ(fast_step, kBatchesOfAMinute * kPointsOfABatch);
}

}  // namespace
}  // namespace ddp
