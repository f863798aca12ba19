#include "server/metrics/hub.h"

#include <algorithm>
#include <utility>

#include "common/clock.h"
#include "server/metrics/columns.h"
#include "server/metrics/subscription.h"
#include "server/telemetry.h"

namespace ddp {

namespace {
// So many are woken by whoever publishes, more of them by the hub's own thread, which lets others at the mutex
// after each such number.
constexpr size_t kWokenAtOnce = 32;
}  // namespace

MetricHub::MetricHub(Reader& reader, size_t queue_limit, Pace pace)
    : reader_(reader), queue_limit_(queue_limit), pace_(std::move(pace)), thread_([this] { BeginRounds(); }) {}

MetricHub::~MetricHub() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void MetricHub::Open(const std::string& job_id, uint64_t last_seq) {
  std::lock_guard lock(mutex_);
  auto channel = std::make_shared<Channel>();
  channel->staged = channel->published = channel->released = last_seq;
  channels_[job_id] = std::move(channel);
}

void MetricHub::Close(const std::string& job_id) {
  std::lock_guard lock(mutex_);
  const auto found = channels_.find(job_id);
  if (found == channels_.end()) return;
  Channel& channel = *found->second;
  channel.closed = true;
  channel.released = channel.published;
  channel.merged.clear();
  for (MetricSubscription* subscription : channel.live) subscription->wake_();
  channels_.erase(found);
}

MetricHub::Batch MetricHub::Stage(const std::string& job_id, int32_t attempt, int64_t start_step,
                                  const v1::MetricBatch& metrics, WriteBatch& writes) {
  auto batch = std::make_shared<v1::StreamMetricsResponse>();
  batch->set_attempt(attempt);
  batch->set_attempt_start_step(start_step);
  for (const v1::MetricColumn& column : metrics.columns()) {
    if (IsColumn(column)) {
      *batch->add_columns() = column;
    } else {
      telemetry.points_malformed += PointsOf(column);
    }
  }
  {
    std::lock_guard lock(mutex_);
    batch->set_seq(++channels_.at(job_id)->staged);
  }
  if (metrics.histograms().empty() && metrics.texts().empty() && metrics.columns_size() == batch->columns_size()) {
    writes.AddChunk(job_id, {batch->seq(), attempt, start_step, metrics.SerializeAsString()});
  } else {
    v1::MetricBatch points;
    *points.mutable_columns() = batch->columns();
    writes.AddChunk(job_id, {batch->seq(), attempt, start_step, points.SerializeAsString()});
  }
  return batch;
}

void MetricHub::Publish(const std::string& job_id, const Batch& batch) {
  std::lock_guard lock(mutex_);
  const auto found = channels_.find(job_id);
  if (found == channels_.end()) return;
  Channel& channel = *found->second;
  telemetry.points_ingested += PointsOf(batch->columns());
  const absl::Duration now = Clock::System().Monotonic();
  channel.published = batch->seq();
  channel.newest.push_back({batch, now});
  if (channel.newest.size() > queue_limit_) channel.newest.pop_front();
  if (channel.live.size() <= kWokenAtOnce && channel.next_round <= now) {
    Release(channel, now);
    for (MetricSubscription* subscription : channel.live) subscription->wake_();
  } else if (!channel.round_due) {
    channel.round_due = true;
    changed_.notify_all();
  }
}

void MetricHub::Release(Channel& channel, absl::Duration now) {
  channel.released = channel.published;
  channel.merged.clear();
  channel.next_round = channel.budget.Begin(now, pace_(channel.live.size()));
}

void MetricHub::WakeAll(Channel& channel, std::unique_lock<std::mutex>& lock) {
  MetricSubscription* last = nullptr;
  for (auto next = channel.live.begin(); next != channel.live.end(); next = channel.live.upper_bound(last)) {
    for (size_t i = 0; i < kWokenAtOnce && next != channel.live.end(); ++i, ++next) {
      last = *next;
      last->wake_();
    }
    lock.unlock();
    lock.lock();
  }
}

void MetricHub::BeginRounds() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    const absl::Duration now = Clock::System().Monotonic();
    absl::Duration earliest = absl::InfiniteDuration();
    std::shared_ptr<Channel> due;
    for (const auto& [id, channel] : channels_) {
      if (!channel->round_due) continue;
      if (channel->next_round < earliest) {
        earliest = channel->next_round;
        due = channel;
      }
    }
    if (earliest <= now) {
      due->round_due = false;
      Release(*due, now);
      WakeAll(*due, lock);
    } else if (due == nullptr) {
      changed_.wait(lock);
    } else {
      changed_.wait_for(lock, absl::ToChronoNanoseconds(earliest - now));
    }
  }
}

void MetricHub::Rewind(const std::string& job_id) {
  std::lock_guard lock(mutex_);
  const auto found = channels_.find(job_id);
  if (found != channels_.end()) found->second->staged = found->second->published;
}

std::unique_ptr<MetricSubscription> MetricHub::Subscribe(const std::string& job_id, uint64_t after_seq,
                                                         std::function<void()> wake, bool merging) {
  std::shared_ptr<Channel> channel;
  {
    std::lock_guard lock(mutex_);
    const auto found = channels_.find(job_id);
    if (found != channels_.end()) channel = found->second;
  }
  return std::unique_ptr<MetricSubscription>(
      new MetricSubscription(*this, std::move(channel), job_id, after_seq, std::move(wake), merging));
}

}  // namespace ddp
