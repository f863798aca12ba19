#include "server/jobs/checkpoints.h"

#include "absl/strings/str_cat.h"
#include "common/checkpoint_folders.h"

namespace ddp {

std::vector<CheckpointFolder> CommittedCheckpoints(const std::string& checkpoint_dir) {
  std::vector<CheckpointFolder> found;
  for (const int64_t step : ListCheckpoints(checkpoint_dir)) {
    found.push_back({step, absl::StrCat(checkpoint_dir, "/", CheckpointName(step))});
  }
  return found;
}

}  // namespace ddp
