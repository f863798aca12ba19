#include "server/metrics/subscription.h"

#include <iterator>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ddp {
namespace {
constexpr size_t kPageBytes = size_t{256} << 10;
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
      std::lock_guard lock(hub_.mutex_);
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

void MetricSubscription::Push(const MetricHub::Batch& batch) {
  queue_.push_back(batch);
  if (queue_.size() > hub_.queue_limit_) {
    if (lagged_from_ == 0) lagged_from_ = queue_.front()->seq();
    lagged_to_ = queue_.front()->seq();
    queue_.pop_front();
    ++telemetry.batches_skipped;
  }
  wake_();
}

StreamStep MetricSubscription::NextLive(v1::StreamMetricsResponse& out) {
  if (lagged_from_ != 0) {
    out.set_seq(lagged_to_);
    out.set_lagged_from(lagged_from_);
    cursor_ = lagged_to_;
    lagged_from_ = 0;
    return StreamStep::kItem;
  }
  if (!queue_.empty()) {
    out = *queue_.front();
    cursor_ = out.seq();
    queue_.pop_front();
    return StreamStep::kItem;
  }
  return channel_->closed ? StreamStep::kEnd : StreamStep::kWait;
}

}  // namespace ddp
