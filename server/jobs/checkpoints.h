// Checkpoints of a job, seen from outside the worker.
#ifndef DDP_SERVER_JOBS_CHECKPOINTS_H_
#define DDP_SERVER_JOBS_CHECKPOINTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ddp {

struct CheckpointFolder {
  int64_t step = 0;
  std::string path;
};

// Committed checkpoints (folders step-NNNNNNNN with a manifest.json), oldest first.
std::vector<CheckpointFolder> CommittedCheckpoints(const std::string& checkpoint_dir);

// "3, 20": the steps of these.
std::string StepsText(const std::vector<CheckpointFolder>& checkpoints);

// The committed checkpoint that a choice of InitFrom::step means. Unset: there is none.
std::optional<CheckpointFolder> FindCheckpoint(const std::string& checkpoint_dir, int64_t choice);

}  // namespace ddp

#endif  // DDP_SERVER_JOBS_CHECKPOINTS_H_
