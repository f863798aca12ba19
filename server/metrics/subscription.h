// One subscriber of a job's metrics.
#ifndef DDP_SERVER_METRICS_SUBSCRIPTION_H_
#define DDP_SERVER_METRICS_SUBSCRIPTION_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ddp/v1/metric.pb.h"
#include "server/metrics/hub.h"
#include "server/stream_step.h"
#include "server/telemetry.h"

namespace ddp {

// Next() by one thread at a time; it may block on the store while it reads history. Leaves the hub when destroyed;
// `wake` is not called after that. OutOfRange when the resume token is ahead of the job.
class MetricSubscription {
 public:
  ~MetricSubscription();
  absl::StatusOr<StreamStep> Next(std::shared_ptr<const StreamMessage>& out);
  // The same with a copy of its own.
  absl::StatusOr<StreamStep> Next(v1::StreamMetricsResponse& out);

 private:
  friend class MetricHub;
  MetricSubscription(MetricHub& hub, std::shared_ptr<MetricHub::Channel> channel, std::string job_id,
                     uint64_t after_seq, std::function<void()> wake, bool merging)
      : hub_(hub),
        channel_(std::move(channel)),
        job_id_(std::move(job_id)),
        cursor_(after_seq),
        wake_(std::move(wake)),
        merging_(merging) {
    ++telemetry.metric_subscribers;
  }

  StreamStep NextLive(MetricHub::Message& out);
  // The next message of the live side, if there is one: batches after the cursor up to `released`.
  MetricHub::Message NextMessage(std::unique_lock<std::mutex>& lock);

  // Joins the live side when that keeps all that is left to read (the cursor then). The seq to read up to otherwise.
  absl::StatusOr<uint64_t> HistoryEnd();
  absl::StatusOr<StreamStep> NextFromPage(MetricHub::Message& out);
  // The message of history after the cursor that another subscriber has made and still sends, if there is one.
  MetricHub::Message SharedPage();
  void SharePage(uint64_t after, const MetricHub::Message& message);

  MetricHub& hub_;
  const std::shared_ptr<MetricHub::Channel> channel_;  // null: the job had ended before
  const std::string job_id_;
  uint64_t cursor_;  // newest seq handed out
  const std::function<void()> wake_;
  const bool merging_;
  std::deque<MetricChunk> page_;

  bool live_ = false;    // guarded by the hub's mutex
  uint64_t joined_ = 0;  // what had been published when it joined the live side
};

}  // namespace ddp

#endif  // DDP_SERVER_METRICS_SUBSCRIPTION_H_
