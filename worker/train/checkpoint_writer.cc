#include "worker/train/checkpoint_writer.h"

#include <utility>

namespace ddp {

CheckpointWriter::CheckpointWriter(const WorkerConfig& config, Ready ready, Done done)
    : config_(config), ready_(std::move(ready)), done_(std::move(done)), thread_(&CheckpointWriter::Loop, this) {}

CheckpointWriter::~CheckpointWriter() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CheckpointWriter::Save(const SnapshotInfo& info, const Model& model, const Optimizer& optimizer) {
  Wait().status().IgnoreError();  // told by done_
  began_ = std::chrono::steady_clock::now();
  TakeSnapshot(info, model, optimizer, &snapshot_);
  {
    const std::lock_guard lock(mutex_);
    busy_ = true;
  }
  changed_.notify_all();
}

absl::StatusOr<int64_t> CheckpointWriter::Wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !busy_; });
  return outcome_;
}

void CheckpointWriter::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return busy_ || closing_; });
    if (!busy_) return;
    lock.unlock();
    ready_();
    const absl::StatusOr<std::string> folder = WriteSnapshot(config_, snapshot_);
    const int64_t step = snapshot_.info.state.step;
    done_(step, folder, std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count());
    lock.lock();
    outcome_ = folder.ok() ? absl::StatusOr<int64_t>(step) : folder.status();
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace ddp
