// How often a job's live subscribers get a message.
#ifndef DDP_SERVER_METRICS_STREAM_PACE_H_
#define DDP_SERVER_METRICS_STREAM_PACE_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace ddp {

// The time from one round of messages to the next for so many subscribers on a machine with so many cores, of which
// `idle` did nothing of late. All of a job's streams together live on a hundredth of the machine and half of what is
// idle beyond three quarters of it, so that training beside them keeps its cores; zero for a few subscribers, who get
// each batch at once. Less idle than that says nothing: who slows one rank down has the others wait for it, and what
// they leave idle must not slow it down further.
absl::Duration StreamInterval(size_t subscribers, double cores, double idle);

// When rounds may begin. Who has had none for a while has saved up for some: an epoch's points reach everybody at once,
// however many they are; a constant flow is held to its interval in the long run.
class RoundBudget {
 public:
  static constexpr absl::Duration kSaved = absl::Seconds(60);
  static constexpr absl::Duration kBetweenSaved = absl::Seconds(1);
  // A round begins, after which StreamInterval says `interval`. The time from which on the next one may begin.
  absl::Duration Begin(absl::Duration now, absl::Duration interval);

 private:
  absl::Duration paid_until_ = -absl::InfiniteDuration();
};

// What all cores together have done since the start, in ticks: the first line of /proc/stat.
struct CpuTicks {
  uint64_t idle = 0;
  uint64_t all = 0;
};
std::optional<CpuTicks> ParseCpuTicks(const std::string& stat);

// StreamInterval for this machine as it is now. Thread-safe.
class StreamPace {
 public:
  StreamPace();
  absl::Duration Interval(size_t subscribers);

 private:
  double Idle();

  const double cores_;
  std::mutex mutex_;
  CpuTicks last_ ABSL_GUARDED_BY(mutex_);
  absl::Duration looked_at_ ABSL_GUARDED_BY(mutex_);  // Clock::Monotonic
  double idle_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace ddp

#endif  // DDP_SERVER_METRICS_STREAM_PACE_H_
