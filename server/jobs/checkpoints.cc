#include "server/jobs/checkpoints.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/checkpoint_folders.h"
#include "spec/init_from.h"

namespace ddp {

std::vector<CheckpointFolder> CommittedCheckpoints(const std::string& checkpoint_dir) {
  std::vector<CheckpointFolder> found;
  for (const int64_t step : ListCheckpoints(checkpoint_dir)) {
    found.push_back({step, absl::StrCat(checkpoint_dir, "/", CheckpointName(step))});
  }
  return found;
}

std::string StepsText(const std::vector<CheckpointFolder>& checkpoints) {
  return absl::StrJoin(checkpoints, ", ", [](std::string* text, const CheckpointFolder& checkpoint) {
    absl::StrAppend(text, checkpoint.step);
  });
}

std::optional<CheckpointFolder> FindCheckpoint(const std::string& checkpoint_dir, int64_t choice) {
  const std::vector<CheckpointFolder> checkpoints = CommittedCheckpoints(checkpoint_dir);
  if (choice == InitFrom::kLast && !checkpoints.empty()) return checkpoints.back();
  const int64_t step = choice == InitFrom::kBest ? BestCheckpoint(checkpoint_dir) : choice;
  for (const CheckpointFolder& checkpoint : checkpoints) {
    if (checkpoint.step == step) return checkpoint;
  }
  return std::nullopt;
}

}  // namespace ddp
