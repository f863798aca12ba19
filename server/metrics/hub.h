// Fans out metric batches: stage (number and add to a write batch) -> the store commits -> publish to subscribers.
//
// Subscribers get history from the store and then live batches, without gap or duplicate: a batch is published only
// after its commit, and a subscriber joins the live side, under the hub's mutex, exactly when it has read everything
// published so far. Nobody waits for a subscriber: its queue is bounded, and what falls out is announced as a lagged
// range.
#ifndef DDP_SERVER_METRICS_HUB_H_
#define DDP_SERVER_METRICS_HUB_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "ddp/v1/metric.pb.h"
#include "ddp/v1/worker.pb.h"
#include "server/store/reader.h"
#include "server/store/write_batch.h"

namespace ddp {

class MetricSubscription;

// Thread-safe. Must outlive its subscriptions.
class MetricHub {
 public:
  using Batch = std::shared_ptr<const v1::StreamMetricsResponse>;
  static constexpr size_t kDefaultQueueLimit = 256;

  // A subscriber's queue holds at most queue_limit batches.
  explicit MetricHub(Reader& reader, size_t queue_limit = kDefaultQueueLimit)
      : reader_(reader), queue_limit_(queue_limit) {}

  // The job may get batches from now on (it is not in an end state); last_seq is the newest in the store.
  void Open(const std::string& job_id, uint64_t last_seq);
  // No more batches: subscribers end once they have read everything.
  void Close(const std::string& job_id);

  // Gives the batch the job's next number and adds its points to `writes`; histograms and texts are not streamed. The
  // job is open. One caller at a time per job.
  Batch Stage(const std::string& job_id, int32_t attempt, int64_t start_step, const v1::MetricBatch& metrics,
              WriteBatch& writes);
  // The staged batch has been committed. In the order of staging.
  void Publish(const std::string& job_id, const Batch& batch);
  // What was staged and not published is lost (its commit failed): numbering goes on after the newest published batch.
  void Rewind(const std::string& job_id);

  // Batches after `after_seq`. `wake` is called, with the hub's mutex held, so it must only post, when Next() may have
  // something after it answered kWait.
  std::unique_ptr<MetricSubscription> Subscribe(const std::string& job_id, uint64_t after_seq,
                                                std::function<void()> wake);

 private:
  friend class MetricSubscription;
  struct Channel {
    uint64_t staged = 0;
    uint64_t published = 0;
    bool closed = false;
    std::set<MetricSubscription*> live;
  };

  Reader& reader_;
  const size_t queue_limit_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Channel>> channels_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ddp

#endif  // DDP_SERVER_METRICS_HUB_H_
