#include "server/jobs/checkpoints.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/checkpoint_folders.h"
#include "common/ids.h"
#include "server/jobs/excerpt.h"

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

absl::StatusOr<InitFrom> ParseInitFrom(const std::string& text) {
  InitFrom result;
  if (text.empty()) return result;
  if (text.front() == '/') {
    result.kind = InitFrom::Kind::kPath;
    result.path = text;
    return result;
  }
  const size_t at = text.find('@');
  result.kind = InitFrom::Kind::kJob;
  result.job = text.substr(0, at);
  const std::optional<int64_t> choice = ParseCheckpointChoice(at == std::string::npos ? "last" : text.substr(at + 1));
  if (!IsJobIdPrefix(result.job) || !choice) {
    return absl::InvalidArgumentError(
        absl::StrCat("must be JOB, JOB@last, JOB@best, JOB@STEP, or an absolute path of a checkpoint folder or a "
                     ".safetensors file, got ",
                     Excerpt(text)));
  }
  result.step = *choice;
  return result;
}

std::optional<int64_t> ParseCheckpointChoice(const std::string& text) {
  if (text == "last") return InitFrom::kLast;
  if (text == "best") return InitFrom::kBest;
  int64_t step = -1;
  // Digits and nothing else: SimpleAtoi alone takes blanks and signs too.
  const bool ok = std::all_of(text.begin(), text.end(), absl::ascii_isdigit) && absl::SimpleAtoi(text, &step);
  return ok ? std::optional<int64_t>(step) : std::nullopt;
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
