// What the processes of a job take from the machine.
#ifndef DDP_RUNNER_SYSTEM_PROBE_H_
#define DDP_RUNNER_SYSTEM_PROBE_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/nvml.h"
#include "runner/gpu_monitor.h"

namespace ddp {

struct ProcessUse {
  absl::Duration cpu;     // of all its threads, in user and kernel mode, since it began
  int64_t rss_bytes = 0;  // resident memory
};

// Not thread-safe.
class SystemProbe {
 public:
  virtual ~SystemProbe() = default;
  // Unset: it has ended.
  virtual std::optional<ProcessUse> Process(pid_t pid) = 0;
  // The job's GPUs, by rank: means since the last call. Empty: there is nothing new.
  virtual std::vector<GpuUse> Gpus() = 0;
};

// /proc and NVML. Never waits: a driver that hangs must not keep a runner from stopping its workers.
class MachineProbe : public SystemProbe {
 public:
  // gpus: NVML's numbers, by rank; empty on CPUs. The first call of Gpus() starts a thread.
  explicit MachineProbe(std::vector<int> gpus, std::string proc = "/proc")
      : gpus_(std::move(gpus)), proc_(std::move(proc)) {}

  std::optional<ProcessUse> Process(pid_t pid) override;
  std::vector<GpuUse> Gpus() override;

 private:
  std::vector<int> gpus_;
  std::string proc_;
  std::unique_ptr<GpuMonitor> monitor_;
};

}  // namespace ddp

#endif  // DDP_RUNNER_SYSTEM_PROBE_H_
