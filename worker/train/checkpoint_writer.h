// Checkpoints written while training goes on.
#ifndef DDP_WORKER_TRAIN_CHECKPOINT_WRITER_H_
#define DDP_WORKER_TRAIN_CHECKPOINT_WRITER_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "worker/train/snapshot.h"

namespace ddp {

// Of rank 0. Save and Wait: one thread.
class CheckpointWriter {
 public:
  // Called in the writer's thread before a checkpoint is written.
  using Ready = std::function<void()>;
  // Called there when a checkpoint is committed (the folder's name) or could not be, so long after its copy began.
  using Done = std::function<void(int64_t step, const absl::StatusOr<std::string>& folder, double seconds)>;
  // `config` is borrowed.
  CheckpointWriter(const WorkerConfig& config, Ready ready, Done done);
  // Waits for what is being written.
  ~CheckpointWriter();

  // Copies everything and returns; a checkpoint that is still being written is waited for first.
  void Save(const SnapshotInfo& info, const Model& model, const Optimizer& optimizer);
  // Until nothing is being written. The step of the newest checkpoint that was committed (-1: none), or why the last
  // one was not.
  absl::StatusOr<int64_t> Wait();

 private:
  void Loop();

  const WorkerConfig& config_;
  Ready ready_;
  Done done_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Snapshot snapshot_;                            // the loop's while busy_
  std::chrono::steady_clock::time_point began_;  // so is this
  bool busy_ = false;
  bool closing_ = false;
  absl::StatusOr<int64_t> outcome_ = -1;  // of the last write
  std::thread thread_;
};

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_CHECKPOINT_WRITER_H_
