// Checkpoints of a job, seen from outside the worker.
#ifndef DDP_SERVER_JOBS_CHECKPOINTS_H_
#define DDP_SERVER_JOBS_CHECKPOINTS_H_

#include <cstdint>
#include <optional>
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

// "3, 20": the steps of these.
std::string StepsText(const std::vector<CheckpointFolder>& checkpoints);

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

// "last", "best" or a step, as InitFrom::step has it. Unset: none of these.
std::optional<int64_t> ParseCheckpointChoice(const std::string& text);

// The committed checkpoint that such a choice means. Unset: there is none.
std::optional<CheckpointFolder> FindCheckpoint(const std::string& checkpoint_dir, int64_t choice);

}  // namespace ddp

#endif  // DDP_SERVER_JOBS_CHECKPOINTS_H_
