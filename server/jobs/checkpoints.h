// Checkpoints of a job, seen from outside the worker.
#ifndef DDP_SERVER_JOBS_CHECKPOINTS_H_
#define DDP_SERVER_JOBS_CHECKPOINTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ddp {

struct CheckpointFolder {
  int64_t step = 0;
  std::string path;
};

// Committed checkpoints (folders step-NNNNNNNN with a manifest.json), oldest first.
std::vector<CheckpointFolder> CommittedCheckpoints(const std::string& checkpoint_dir);

// What init_from names.
struct InitFrom {
  enum class Kind { kNone, kPath, kJob };
  Kind kind = Kind::kNone;
  std::string path;      // kPath
  std::string job;       // kJob: an id or a prefix of one
  int64_t step = kLast;  // kJob
  static constexpr int64_t kLast = -1;
  static constexpr int64_t kBest = -2;
};
// InvalidArgument for text that is neither JOB, JOB@last, JOB@best, JOB@STEP nor an absolute path.
absl::StatusOr<InitFrom> ParseInitFrom(const std::string& text);

}  // namespace ddp

#endif  // DDP_SERVER_JOBS_CHECKPOINTS_H_
