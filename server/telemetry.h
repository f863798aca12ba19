// What the daemon counts about itself while it runs, for /metrics. One set per process: whoever does the work counts
// it, and needs to know nobody for that. Costs an atomic addition.
#ifndef DDP_SERVER_TELEMETRY_H_
#define DDP_SERVER_TELEMETRY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace ddp {

// Thread-safe.
class TimeHistogram {
 public:
  // Upper bounds in seconds: from an fsync of a fast disk to a queue that is full for a day.
  static constexpr std::array<double, 13> kBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01,  0.025, 0.1,
                                                     0.5,    2.5,   10,     60,    600.0, 86400};
  void Observe(absl::Duration duration) {
    const double seconds = absl::ToDoubleSeconds(duration);
    size_t bucket = 0;
    while (bucket < kBounds.size() && seconds > kBounds[bucket]) ++bucket;
    buckets_[bucket].fetch_add(1, std::memory_order_relaxed);
    nanoseconds_.fetch_add(static_cast<uint64_t>(absl::ToInt64Nanoseconds(duration)), std::memory_order_relaxed);
  }
  // The last one: above every bound.
  uint64_t bucket(size_t i) const { return buckets_[i].load(std::memory_order_relaxed); }
  double sum() const { return static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) / 1e9; }

 private:
  std::array<std::atomic<uint64_t>, kBounds.size() + 1> buckets_{};
  std::atomic<uint64_t> nanoseconds_{0};
};

struct Telemetry {
  std::atomic<uint64_t> points_ingested{0};      // durable
  std::atomic<uint64_t> points_malformed{0};     // of a training's column that is no column; dropped
  std::atomic<uint64_t> points_not_live{0};      // of an attempt that is not the live one; dropped
  std::atomic<uint64_t> points_not_imported{0};  // of a message of an import that was refused
  std::atomic<int64_t> changes_waiting{0};       // given to the store and not committed yet
  std::atomic<uint64_t> batches_merged{0};       // into the live message of another one
  std::atomic<uint64_t> batches_skipped{0};      // for subscribers that did not read; they were told
  std::atomic<int64_t> metric_subscribers{0};    // now
  std::atomic<uint64_t> store_errors{0};         // refused or failed batches of changes
  std::atomic<uint64_t> jobs_succeeded{0};       // jobs that came into the state, since the start
  std::atomic<uint64_t> jobs_failed{0};
  std::atomic<uint64_t> jobs_cancelled{0};
  std::atomic<uint64_t> jobs_paused{0};
  std::atomic<uint64_t> restarts_failed{0};   // after an attempt of this outcome
  std::atomic<uint64_t> restarts_stopped{0};  // by somebody unknown
  std::atomic<uint64_t> restarts_lost{0};
  TimeHistogram stream_lag;    // of the oldest point of a live message, from durable to handed to its stream
  TimeHistogram queue_wait;    // from QUEUED to STARTING
  TimeHistogram store_commit;  // of a group, with its fsync
  TimeHistogram checkpoint;    // of a training, from the copy of its tensors to the commit
};

inline Telemetry telemetry;

}  // namespace ddp

#endif  // DDP_SERVER_TELEMETRY_H_
