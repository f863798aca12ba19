// Fans out metric batches: stage (number and add to a write batch) -> the store commits -> publish to subscribers.
//
// Subscribers get history from the store and then live batches, without gap or duplicate: a batch is published only
// after its commit, and a subscriber joins the live side, under the hub's mutex, as soon as that has all that it has
// not read yet. Nobody waits for a subscriber: what a job has published last is kept once for all of them, up to a
// bound, and who is further behind is told the range that it missed. With many subscribers batches come in rounds
// (stream_pace.h): what was published meanwhile is one message, made once for all who have read the same.
#ifndef DDP_SERVER_METRICS_HUB_H_
#define DDP_SERVER_METRICS_HUB_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "ddp/v1/metric.pb.h"
#include "ddp/v1/worker.pb.h"
#include "server/metrics/stream_message.h"
#include "server/metrics/stream_pace.h"
#include "server/store/reader.h"
#include "server/store/write_batch.h"

namespace ddp {

class MetricSubscription;

// Thread-safe. Must outlive its subscriptions.
class MetricHub {
 public:
  using Batch = StreamMessage::Batch;
  // StreamInterval for so many subscribers. From any thread, with the hub's mutex held.
  using Pace = std::function<absl::Duration(size_t subscribers)>;
  static absl::Duration EveryBatchAtOnce(size_t) { return absl::ZeroDuration(); }
  static constexpr size_t kDefaultQueueLimit = 2048;

  // A live subscriber may be queue_limit batches behind.
  explicit MetricHub(Reader& reader, size_t queue_limit = kDefaultQueueLimit, Pace pace = EveryBatchAtOnce);
  ~MetricHub();

  // The job may get batches from now on (it is not in an end state); last_seq is the newest in the store.
  void Open(const std::string& job_id, uint64_t last_seq);
  // No more batches: subscribers end once they have read everything.
  void Close(const std::string& job_id);

  // Gives the batch the job's next number and adds its points to `writes`; histograms and texts are not streamed.
  // Columns that are none (columns.h) are left out and counted. The job is open. One caller at a time per job.
  Batch Stage(const std::string& job_id, int32_t attempt, int64_t start_step, const v1::MetricBatch& metrics,
              WriteBatch& writes);
  // The staged batch has been committed. In the order of staging.
  void Publish(const std::string& job_id, const Batch& batch);
  // What was staged and not published is lost (its commit failed): numbering goes on after the newest published batch.
  void Rewind(const std::string& job_id);

  // Batches after `after_seq`; `merging`: what is there goes into one message. `wake` is called, with the hub's mutex
  // held, so it must only post, when Next() may have something after it answered kWait.
  std::unique_ptr<MetricSubscription> Subscribe(const std::string& job_id, uint64_t after_seq,
                                                std::function<void()> wake, bool merging = true);

 private:
  friend class MetricSubscription;
  using Message = std::shared_ptr<const StreamMessage>;
  struct Published {
    Batch batch;
    absl::Duration at;  // Clock::Monotonic
  };
  struct Channel {
    uint64_t staged = 0;
    uint64_t published = 0;
    uint64_t released = 0;  // what subscribers may read up to: published when the last round began
    bool closed = false;
    std::deque<Published> newest;  // up to `published`, at most queue_limit
    // Messages for who has read up to a seq, that go up to `released` or as far as one message does.
    std::map<uint64_t, Message> merged;
    // The same of history, as long as somebody still sends them: who joins together reads together.
    std::map<uint64_t, std::weak_ptr<const StreamMessage>> pages;
    std::set<MetricSubscription*> live;
    RoundBudget budget;
    absl::Duration next_round;  // Clock::Monotonic
    bool round_due = false;     // the thread will begin it
  };

  void Release(Channel& channel, absl::Duration now);
  // The thread: begins rounds that were put off, and those of many subscribers.
  void BeginRounds();
  void WakeAll(Channel& channel, std::unique_lock<std::mutex>& lock);

  Reader& reader_;
  const size_t queue_limit_;
  const Pace pace_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::shared_ptr<Channel>> channels_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace ddp

#endif  // DDP_SERVER_METRICS_HUB_H_
