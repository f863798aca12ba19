// Jobs that ended long ago take less space: what later attempts superseded goes, and long series are thinned out.
#ifndef DDP_SERVER_METRICS_RETENTION_H_
#define DDP_SERVER_METRICS_RETENTION_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/clock.h"
#include "server/store/store.h"

namespace ddp {

// Points stay in the batch in which they came, so that resume tokens of Stream mean what they meant; batches of which
// nothing is left go, but never the newest. A job is done once for each time that it ends, in transactions of about
// page_bytes. When ddpd dies in between, it goes on from there, and a few points more than kLongest may stay.
class MetricRetention {
 public:
  // A series with more points is thinned out to at most so many: keep_shape.h says which.
  static constexpr size_t kLongest = 10'000;
  static constexpr size_t kPageBytes = size_t{256} << 10;

  // store and clock must outlive it.
  MetricRetention(Store& store, const Clock& clock, int keep_days, size_t page_bytes = kPageBytes)
      : store_(store), clock_(clock), keep_days_(keep_days), page_bytes_(page_bytes) {}
  ~MetricRetention();

  // All jobs that ended more than keep_days ago. An error ends it; the next call goes on.
  absl::Status RunOnce();
  // At once and then every hour, on a thread of its own.
  void StartThread();

 private:
  absl::Status Thin(const EndedJob& job);
  void Loop();
  bool Closing();

  Store& store_;
  const Clock& clock_;
  const int keep_days_;
  const size_t page_bytes_;
  std::mutex mutex_;
  std::condition_variable closing_changed_;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace ddp

#endif  // DDP_SERVER_METRICS_RETENTION_H_
