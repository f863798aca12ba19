#include "worker/train/step_policy.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace ddp {

StepVerdict JudgeStep(NanPolicy policy, double loss, double gradient_norm, int skipped_in_row, int rollbacks) {
  if (std::isfinite(loss) && std::isfinite(gradient_norm)) return StepVerdict::kUpdate;
  switch (policy) {
    case NanPolicy::kStop:
      return StepVerdict::kFail;
    case NanPolicy::kSkip:
      return skipped_in_row + 1 < kMaxSkippedInRow ? StepVerdict::kSkip : StepVerdict::kFail;
    case NanPolicy::kRollback:
      return rollbacks < kMaxRollbacks ? StepVerdict::kRollBack : StepVerdict::kFail;
  }
  return StepVerdict::kFail;
}

BestEpoch NextBest(const BestEpoch& best, std::optional<double> value, bool higher_is_better, int64_t step) {
  const bool counts = value && std::isfinite(*value);
  if (counts && (!best.value || (higher_is_better ? *value > *best.value : *value < *best.value))) {
    return {.value = value, .step = step, .stale_epochs = 0};
  }
  BestEpoch next = best;
  ++next.stale_epochs;
  return next;
}

absl::StatusOr<std::vector<bool>> FrozenNames(const std::vector<std::string>& names,
                                              const std::vector<std::string>& freeze) {
  std::vector<bool> frozen(names.size(), false);
  for (size_t p = 0; p < freeze.size(); ++p) {
    bool any = false;
    for (size_t i = 0; i < names.size(); ++i) {
      if (fnmatch(freeze[p].c_str(), names[i].c_str(), 0) != 0) continue;
      frozen[i] = any = true;
    }
    if (!any) {
      return absl::InvalidArgumentError(absl::StrCat("training.freeze[", p, "]: no parameter matches '", freeze[p],
                                                     "'; there are ", names.front(), " to ", names.back()));
    }
  }
  if (!freeze.empty() && std::find(frozen.begin(), frozen.end(), false) == frozen.end()) {
    return absl::InvalidArgumentError("training.freeze: every parameter is frozen: there is nothing to train");
  }
  return frozen;
}

}  // namespace ddp
