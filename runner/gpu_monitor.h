// GPUs, measured by a thread of their own.
#ifndef DDP_RUNNER_GPU_MONITOR_H_
#define DDP_RUNNER_GPU_MONITOR_H_

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "common/nvml.h"

namespace ddp {

// Loading NVML can take seconds, and a call never comes back when a driver hangs: only the thread waits for that, never
// the one that takes the results. Where there is no NVML, there are none. Take by one thread.
class GpuMonitor {
 public:
  // indices: NVML's numbers.
  explicit GpuMonitor(std::vector<int> indices, absl::Duration every = absl::Seconds(1),
                      std::string library = kNvmlLibrary);
  // Leaves a thread behind that does not come back.
  ~GpuMonitor();

  // Means of what was measured since the last call, in the order of the indices. Empty: nothing was.
  std::vector<GpuUse> Take();

 private:
  struct Shared;
  static void Run(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace ddp

#endif  // DDP_RUNNER_GPU_MONITOR_H_
