#include "server/metrics/subscription.h"

#include <iterator>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "server/metrics/merged_batch.h"

namespace ddp {
namespace {
constexpr size_t kPageBytes = size_t{256} << 10;
// A live message is full with the batch that makes it larger than this.
constexpr size_t kMessageBytes = size_t{256} << 10;
// For subscribers that are behind by different amounts; they share at most so many.
constexpr size_t kMessagesKept = 16;
}  // namespace

MetricSubscription::~MetricSubscription() {
  --telemetry.metric_subscribers;
  std::lock_guard lock(hub_.mutex_);
  if (channel_ != nullptr) channel_->live.erase(this);
}

absl::StatusOr<StreamStep> MetricSubscription::Next(v1::StreamMetricsResponse& out) {
  out.Clear();
  while (page_.empty()) {
    DDP_ASSIGN_OR_RETURN(const uint64_t end, HistoryEnd());
    if (cursor_ >= end) {
      if (channel_ == nullptr) return StreamStep::kEnd;
      return NextLive(out);
    }
    DDP_ASSIGN_OR_RETURN(std::vector<MetricChunk> page, hub_.reader_.Chunks(job_id_, cursor_, end, kPageBytes));
    if (page.empty()) return absl::NotFoundError(absl::StrCat("job ", job_id_, " has been deleted"));
    page_.assign(std::make_move_iterator(page.begin()), std::make_move_iterator(page.end()));
  }
  return NextFromPage(out);
}

absl::StatusOr<uint64_t> MetricSubscription::HistoryEnd() {
  uint64_t end = 0;
  if (channel_ == nullptr) {
    DDP_ASSIGN_OR_RETURN(end, hub_.reader_.LastChunk(job_id_));
  } else {
    std::lock_guard lock(hub_.mutex_);
    if (live_) return cursor_;
    end = channel_->published;
    if (cursor_ == end) {
      live_ = true;
      channel_->live.insert(this);
    }
  }
  if (cursor_ > end) {
    return absl::OutOfRangeError(absl::StrCat("after_seq is ", cursor_, ", but the newest batch is ", end));
  }
  return end;
}

absl::StatusOr<StreamStep> MetricSubscription::NextFromPage(v1::StreamMetricsResponse& out) {
  const MetricChunk& chunk = page_.front();
  v1::MetricBatch batch;
  if (!batch.ParseFromString(chunk.batch)) {
    return absl::DataLossError(absl::StrCat("job ", job_id_, ": metric chunk ", chunk.seq, " is unreadable"));
  }
  out.set_seq(chunk.seq);
  out.set_attempt(chunk.attempt);
  out.set_attempt_start_step(chunk.start_step);
  out.mutable_columns()->Swap(batch.mutable_columns());
  cursor_ = chunk.seq;
  page_.pop_front();
  return StreamStep::kItem;
}

MetricHub::Batch MetricSubscription::NextMessage(std::unique_lock<std::mutex>& lock) {
  MetricHub::Channel& channel = *channel_;
  const size_t first = cursor_ + 1 - channel.newest.front().batch->seq();
  if (!merging_) return channel.newest[first].batch;
  if (const auto made = channel.merged.find(cursor_); made != channel.merged.end()) return made->second;
  std::vector<MetricHub::Batch> batches;
  size_t bytes = 0;
  const uint64_t released = channel.released;
  for (size_t i = first; i < channel.newest.size() && bytes < kMessageBytes; ++i) {
    const MetricHub::Batch& batch = channel.newest[i].batch;
    if (batch->seq() > released || (!batches.empty() && !CanFollow(*batches.back(), *batch))) break;
    bytes += batch->ByteSizeLong();
    batches.push_back(batch);
  }
  if (batches.size() == 1) return batches.front();
  // Not under the mutex, which whoever publishes needs. Two threads may make the same message.
  lock.unlock();
  auto message = std::make_shared<const v1::StreamMetricsResponse>(MergeBatches(batches));
  lock.lock();
  if (channel.released == released && channel.merged.size() < kMessagesKept) channel.merged[cursor_] = message;
  return message;
}

StreamStep MetricSubscription::NextLive(v1::StreamMetricsResponse& out) {
  std::unique_lock lock(hub_.mutex_);
  if (cursor_ >= channel_->released) return channel_->closed ? StreamStep::kEnd : StreamStep::kWait;
  const uint64_t oldest = channel_->newest.front().batch->seq();
  if (cursor_ + 1 < oldest) {
    out.set_lagged_from(cursor_ + 1);
    out.set_seq(oldest - 1);
    telemetry.batches_skipped += oldest - 1 - cursor_;
    cursor_ = oldest - 1;
    return StreamStep::kItem;
  }
  const absl::Duration published_at = channel_->newest[cursor_ + 1 - oldest].at;
  const MetricHub::Batch message = NextMessage(lock);
  lock.unlock();
  telemetry.stream_lag.Observe(Clock::System().Monotonic() - published_at);
  telemetry.batches_merged += message->seq() - cursor_ - 1;
  out = *message;
  cursor_ = message->seq();
  return StreamStep::kItem;
}

}  // namespace ddp
