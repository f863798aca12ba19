// Checkpoints of a job, seen from outside the worker.
#ifndef DDP_SERVER_JOBS_CHECKPOINTS_H_
#define DDP_SERVER_JOBS_CHECKPOINTS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ddp {

struct CheckpointFolder {
  int64_t step = 0;
  std::string path;
};

// Committed checkpoints (folders step-NNNNNNNN with a manifest.json), oldest first.
std::vector<CheckpointFolder> CommittedCheckpoints(const std::string& checkpoint_dir);

}  // namespace ddp

#endif  // DDP_SERVER_JOBS_CHECKPOINTS_H_
