// Starts runners, and tells whether an attempt is alive.
#ifndef DDP_SERVER_SUPERVISOR_LAUNCHER_H_
#define DDP_SERVER_SUPERVISOR_LAUNCHER_H_

#include <sys/resource.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "ddp/v1/worker.pb.h"

namespace ddp {

// Thread-safe.
class Launcher {
 public:
  virtual ~Launcher() = default;
  // Makes launch.attempt_dir, writes launch.pb into it and starts the runner. Its pid.
  virtual absl::StatusOr<int64_t> Launch(const v1::Launch& launch) = 0;
  // Is any process of the attempt left? (True also when the lock cannot be looked at: better too late than twice.)
  virtual bool Alive(const std::string& attempt_dir) = 0;
};

class ProcessLauncher final : public Launcher {
 public:
  // open_files: the limit that runners, and what they start, get; unset: ours.
  explicit ProcessLauncher(std::string runner_binary, std::optional<rlimit> open_files = std::nullopt)
      : runner_binary_(std::move(runner_binary)), open_files_(open_files) {}
  absl::StatusOr<int64_t> Launch(const v1::Launch& launch) override;
  bool Alive(const std::string& attempt_dir) override;

 private:
  void ReapRunners();

  const std::string runner_binary_;
  const std::optional<rlimit> open_files_;
  std::mutex mutex_;
  std::set<int64_t> runners_ ABSL_GUARDED_BY(mutex_);  // our children
};

}  // namespace ddp

#endif  // DDP_SERVER_SUPERVISOR_LAUNCHER_H_
