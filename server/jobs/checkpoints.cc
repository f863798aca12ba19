#include "server/jobs/checkpoints.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/checkpoint_folders.h"
#include "common/ids.h"
#include "server/jobs/excerpt.h"

namespace ddp {

namespace {

// Digits and nothing else: SimpleAtoi alone takes blanks and signs too.
bool ParseStep(const std::string& text, int64_t* step) {
  return std::all_of(text.begin(), text.end(), absl::ascii_isdigit) && absl::SimpleAtoi(text, step);
}

}  // namespace

std::vector<CheckpointFolder> CommittedCheckpoints(const std::string& checkpoint_dir) {
  std::vector<CheckpointFolder> found;
  for (const int64_t step : ListCheckpoints(checkpoint_dir)) {
    found.push_back({step, absl::StrCat(checkpoint_dir, "/", CheckpointName(step))});
  }
  return found;
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
  const std::string which = at == std::string::npos ? "last" : text.substr(at + 1);
  if (which == "best") result.step = InitFrom::kBest;
  const bool step_ok = which == "last" || which == "best" || ParseStep(which, &result.step);
  if (!IsJobIdPrefix(result.job) || !step_ok) {
    return absl::InvalidArgumentError(
        absl::StrCat("must be JOB, JOB@last, JOB@best, JOB@STEP, or an absolute path of a checkpoint folder or a "
                     ".safetensors file, got ",
                     Excerpt(text)));
  }
  return result;
}

}  // namespace ddp
