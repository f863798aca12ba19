// System metrics of an attempt: what each rank takes from the machine, as points.
#ifndef DDP_RUNNER_SYSTEM_SAMPLER_H_
#define DDP_RUNNER_SYSTEM_SAMPLER_H_

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "ddp/v1/worker.pb.h"
#include "runner/system_probe.h"

namespace ddp {

// Series of rank K: rank/K/cpu_percent (of one core, since the point before), rank/K/rss_bytes, and of its GPU
// gpu/K/utilization_percent, gpu/K/memory_bytes, gpu/K/power_watts, gpu/K/temperature_celsius. What cannot be measured
// has no point. Not thread-safe.
class SystemSampler {
 public:
  SystemSampler(SystemProbe& probe, Clock& clock) : probe_(probe), clock_(clock) {}

  // Training begins on these processes, by rank. Not before: the first points of an attempt replace those of earlier
  // attempts behind the step that it goes on from, so that step must be known.
  void Begin(const std::vector<pid_t>& ranks);
  // The process of this rank has been reaped: its number may be another's from now on.
  void Ended(size_t rank);
  // When the next points are due (Clock::Monotonic): soon after the beginning, then now and then.
  absl::Duration due() const { return due_; }
  // step: the newest that is done.
  v1::MetricBatch Sample(int64_t step);

 private:
  struct Rank {
    pid_t pid = 0;       // 0: has ended
    absl::Duration cpu;  // when last measured
  };

  SystemProbe& probe_;
  Clock& clock_;
  std::vector<Rank> ranks_;
  absl::Duration measured_at_;
  absl::Duration due_ = absl::InfiniteDuration();
};

}  // namespace ddp

#endif  // DDP_RUNNER_SYSTEM_SAMPLER_H_
