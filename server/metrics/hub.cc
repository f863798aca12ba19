#include "server/metrics/hub.h"

#include <utility>

#include "server/metrics/subscription.h"
#include "server/telemetry.h"

namespace ddp {

void MetricHub::Open(const std::string& job_id, uint64_t last_seq) {
  std::lock_guard lock(mutex_);
  auto channel = std::make_shared<Channel>();
  channel->staged = channel->published = last_seq;
  channels_[job_id] = std::move(channel);
}

void MetricHub::Close(const std::string& job_id) {
  std::lock_guard lock(mutex_);
  const auto found = channels_.find(job_id);
  if (found == channels_.end()) return;
  found->second->closed = true;
  for (MetricSubscription* subscription : found->second->live) subscription->wake_();
  channels_.erase(found);
}

MetricHub::Batch MetricHub::Stage(const std::string& job_id, int32_t attempt, int64_t start_step,
                                  const v1::MetricBatch& metrics, WriteBatch& writes) {
  auto batch = std::make_shared<v1::StreamMetricsResponse>();
  batch->set_attempt(attempt);
  batch->set_attempt_start_step(start_step);
  *batch->mutable_columns() = metrics.columns();
  {
    std::lock_guard lock(mutex_);
    batch->set_seq(++channels_.at(job_id)->staged);
  }
  if (metrics.histograms().empty() && metrics.texts().empty()) {
    writes.AddChunk(job_id, {batch->seq(), attempt, start_step, metrics.SerializeAsString()});
  } else {
    v1::MetricBatch points;
    *points.mutable_columns() = metrics.columns();
    writes.AddChunk(job_id, {batch->seq(), attempt, start_step, points.SerializeAsString()});
  }
  return batch;
}

void MetricHub::Publish(const std::string& job_id, const Batch& batch) {
  std::lock_guard lock(mutex_);
  const auto found = channels_.find(job_id);
  if (found == channels_.end()) return;
  found->second->published = batch->seq();
  for (const v1::MetricColumn& column : batch->columns()) {
    telemetry.points_ingested += static_cast<uint64_t>(column.step_size());
  }
  for (MetricSubscription* subscription : found->second->live) subscription->Push(batch);
}

void MetricHub::Rewind(const std::string& job_id) {
  std::lock_guard lock(mutex_);
  const auto found = channels_.find(job_id);
  if (found != channels_.end()) found->second->staged = found->second->published;
}

std::unique_ptr<MetricSubscription> MetricHub::Subscribe(const std::string& job_id, uint64_t after_seq,
                                                         std::function<void()> wake) {
  std::shared_ptr<Channel> channel;
  {
    std::lock_guard lock(mutex_);
    const auto found = channels_.find(job_id);
    if (found != channels_.end()) channel = found->second;
  }
  return std::unique_ptr<MetricSubscription>(
      new MetricSubscription(*this, std::move(channel), job_id, after_seq, std::move(wake)));
}

}  // namespace ddp
