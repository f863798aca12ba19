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
// Of history, which each subscriber holds for itself while it does not read.
constexpr size_t kPageBytes = size_t{64} << 10;
// A live message is full with the batch that makes it larger than this.
constexpr size_t kMessageBytes = size_t{256} << 10;
// For subscribers that are behind by different amounts; they share at most so many.
constexpr size_t kMessagesKept = 16;

std::shared_ptr<const StreamMessage> AsOneMessage(const std::vector<StreamMessage::Batch>& batches) {
  return std::make_shared<const StreamMessage>(
      batches.size() == 1 ? batches.front() : std::make_shared<const v1::StreamMetricsResponse>(MergeBatches(batches)));
}
}  // namespace

MetricSubscription::~MetricSubscription() {
  --telemetry.metric_subscribers;
  std::lock_guard lock(hub_.mutex_);
  if (channel_ != nullptr) channel_->live.erase(this);
}

absl::StatusOr<StreamStep> MetricSubscription::Next(v1::StreamMetricsResponse& out) {
  MetricHub::Message message;
  const absl::StatusOr<StreamStep> step = Next(message);
  if (message == nullptr) {
    out.Clear();
  } else {
    out = message->response();
  }
  return step;
}

absl::StatusOr<StreamStep> MetricSubscription::Next(std::shared_ptr<const StreamMessage>& out) {
  out.reset();
  while (page_.empty()) {
    DDP_ASSIGN_OR_RETURN(const uint64_t end, HistoryEnd());
    if (cursor_ >= end) {
      if (channel_ == nullptr) return StreamStep::kEnd;
      return NextLive(out);
    }
    if (out = SharedPage(); out != nullptr) {
      cursor_ = out->response().seq();
      return StreamStep::kItem;
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
    const bool kept = !channel_->newest.empty() && cursor_ + 1 >= channel_->newest.front().batch->seq();
    if (cursor_ == end || (kept && cursor_ < end)) {
      live_ = true;
      joined_ = end;
      channel_->live.insert(this);
      return cursor_;
    }
  }
  if (cursor_ > end) {
    return absl::OutOfRangeError(absl::StrCat("after_seq is ", cursor_, ", but the newest batch is ", end));
  }
  return end;
}

absl::StatusOr<StreamStep> MetricSubscription::NextFromPage(MetricHub::Message& out) {
  std::vector<MetricHub::Batch> batches;
  do {
    const MetricChunk& chunk = page_.front();
    v1::MetricBatch batch;
    if (!batch.ParseFromString(chunk.batch)) {
      return absl::DataLossError(absl::StrCat("job ", job_id_, ": metric chunk ", chunk.seq, " is unreadable"));
    }
    auto response = std::make_shared<v1::StreamMetricsResponse>();
    response->set_seq(chunk.seq);
    response->set_attempt(chunk.attempt);
    response->set_attempt_start_step(chunk.start_step);
    response->mutable_columns()->Swap(batch.mutable_columns());
    if (!batches.empty() && !CanFollow(*batches.back(), *response)) break;
    batches.push_back(std::move(response));
    page_.pop_front();
  } while (merging_ && !page_.empty());
  out = AsOneMessage(batches);
  SharePage(cursor_, out);
  cursor_ = batches.back()->seq();
  return StreamStep::kItem;
}

MetricHub::Message MetricSubscription::SharedPage() {
  if (channel_ == nullptr || !merging_) return nullptr;
  std::lock_guard lock(hub_.mutex_);
  const auto found = channel_->pages.find(cursor_);
  return found == channel_->pages.end() ? nullptr : found->second.lock();
}

void MetricSubscription::SharePage(uint64_t after, const MetricHub::Message& message) {
  if (channel_ == nullptr || !merging_) return;
  std::lock_guard lock(hub_.mutex_);
  std::erase_if(channel_->pages, [](const auto& page) { return page.second.expired(); });
  channel_->pages[after] = message;
}

MetricHub::Message MetricSubscription::NextMessage(std::unique_lock<std::mutex>& lock) {
  MetricHub::Channel& channel = *channel_;
  const size_t first = cursor_ + 1 - channel.newest.front().batch->seq();
  if (!merging_) return std::make_shared<const StreamMessage>(channel.newest[first].batch);
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
  // Not under the mutex, which whoever publishes needs. Two threads may make the same message.
  lock.unlock();
  auto message = AsOneMessage(batches);
  lock.lock();
  if (channel.released == released && channel.merged.size() < kMessagesKept) channel.merged[cursor_] = message;
  return message;
}

StreamStep MetricSubscription::NextLive(MetricHub::Message& out) {
  std::unique_lock lock(hub_.mutex_);
  if (cursor_ >= channel_->released) return channel_->closed ? StreamStep::kEnd : StreamStep::kWait;
  const uint64_t oldest = channel_->newest.front().batch->seq();
  if (cursor_ + 1 < oldest) {
    auto gap = std::make_shared<v1::StreamMetricsResponse>();
    gap->set_lagged_from(cursor_ + 1);
    gap->set_seq(oldest - 1);
    out = std::make_shared<const StreamMessage>(std::move(gap));
    telemetry.batches_skipped += oldest - 1 - cursor_;
    cursor_ = oldest - 1;
    return StreamStep::kItem;
  }
  const absl::Duration published_at = channel_->newest[cursor_ + 1 - oldest].at;
  out = NextMessage(lock);
  lock.unlock();
  if (cursor_ >= joined_) {
    telemetry.stream_lag.Observe(Clock::System().Monotonic() - published_at);
    telemetry.batches_merged += out->response().seq() - cursor_ - 1;
  }
  cursor_ = out->response().seq();
  return StreamStep::kItem;
}

}  // namespace ddp
