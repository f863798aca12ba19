#include "worker/checkpoint/describe.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/checkpoint_folders.h"
#include "common/files.h"

namespace ddp {

namespace {

using Json = nlohmann::json;

// An object without fields when the file is missing or damaged.
Json ReadObject(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path, size_t{256} << 20);
  if (!text.ok()) return Json::object();
  Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : Json::object();
}

template <typename Number>
std::optional<Number> NumberAt(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  return found->get<Number>();
}

CheckpointDescription Describe(const std::string& folder, int64_t step) {
  CheckpointDescription result{.step = step, .folder = folder};
  const Json manifest = ReadObject(absl::StrCat(folder, "/", kManifestName));
  result.attempt = NumberAt<int64_t>(manifest, "attempt").value_or(0);
  const absl::StatusOr<std::vector<std::string>> names = ListFolder(folder);
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    struct stat info {};
    if (stat(absl::StrCat(folder, "/", name).c_str(), &info) != 0) continue;
    result.bytes += info.st_size;
    if (name == kManifestName) result.time = info.st_mtime;
  }
  const Json state = ReadObject(folder + "/state.json");
  result.epoch = NumberAt<int64_t>(state, "epoch");
  result.valid_loss = NumberAt<double>(state, "valid_loss");
  result.valid_accuracy = NumberAt<double>(state, "valid_accuracy");
  return result;
}

}  // namespace

std::vector<CheckpointDescription> DescribeCheckpoints(const std::string& checkpoints_dir) {
  const int64_t best = BestCheckpoint(checkpoints_dir);
  std::vector<CheckpointDescription> all;
  for (const int64_t step : ListCheckpoints(checkpoints_dir)) {
    all.push_back(Describe(absl::StrCat(checkpoints_dir, "/", CheckpointName(step)), step));
    all.back().best = step == best;
  }
  return all;
}

}  // namespace ddp
