#include "common/checkpoint_folders.h"

#include <algorithm>
#include <nlohmann/json.hpp>

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

int64_t BestCheckpoint(const std::string& checkpoints_dir) {
  const absl::StatusOr<std::string> text = ReadFile(absl::StrCat(checkpoints_dir, "/", kBestName), size_t{1} << 12);
  if (!text.ok()) return -1;
  const nlohmann::json best = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!best.is_object() || !best.contains("step") || !best["step"].is_number_integer()) return -1;
  const std::vector<int64_t> steps = ListCheckpoints(checkpoints_dir);
  const auto step = best["step"].get<int64_t>();
  return std::binary_search(steps.begin(), steps.end(), step) ? step : -1;
}

}  // namespace ddp
