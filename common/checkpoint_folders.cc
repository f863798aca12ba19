#include "common/checkpoint_folders.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files.h"

namespace ddp {

std::string CheckpointName(int64_t step) { return absl::StrFormat("step-%08d", step); }

int64_t CheckpointStep(const std::string& name) {
  int64_t step = -1;
  if (name.rfind("step-", 0) != 0 || !absl::SimpleAtoi(name.substr(5), &step) || step < 0) return -1;
  return CheckpointName(step) == name ? step : -1;
}

std::vector<int64_t> ListCheckpoints(const std::string& checkpoints_dir) {
  std::vector<int64_t> steps;
  const absl::StatusOr<std::vector<std::string>> names = ListFolder(checkpoints_dir);
  if (!names.ok()) return steps;
  for (const std::string& name : *names) {
    const int64_t step = CheckpointStep(name);
    if (step >= 0 && Exists(absl::StrCat(checkpoints_dir, "/", name, "/", kManifestName))) steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

}  // namespace ddp
