// Decisions about a step or an epoch that every rank takes alike, since all of them know the same global numbers. Pure.
#ifndef DDP_WORKER_TRAIN_STEP_POLICY_H_
#define DDP_WORKER_TRAIN_STEP_POLICY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/config.h"

namespace ddp {

// Skipped steps in a row, and ways back to a checkpoint in all, after which a job is given up.
inline constexpr int kMaxSkippedInRow = 100;
inline constexpr int kMaxRollbacks = 10;

enum class StepVerdict { kUpdate, kSkip, kRollBack, kFail };
// Of a step with this global loss and gradient norm, after `skipped_in_row` skipped ones and `rollbacks`.
StepVerdict JudgeStep(NanPolicy policy, double loss, double gradient_norm, int skipped_in_row, int rollbacks);

// The best epoch so far, by a metric of TrainingConfig::best_metric.
struct BestEpoch {
  std::optional<double> value;
  int64_t step = -1;     // of the checkpoint at the end of that epoch
  int stale_epochs = 0;  // since then
};
// After an epoch whose metric has `value` (unset: it has none); the checkpoint of `step` follows. A value that is not
// finite is never the best. Equal is no better.
BestEpoch NextBest(const BestEpoch& best, std::optional<double> value, bool higher_is_better, int64_t step);
inline bool HigherIsBetter(const std::string& metric) { return metric.ends_with("_acc"); }

// Which of `names` match a pattern of `freeze`. InvalidArgument names a pattern that matches none, and when all match.
absl::StatusOr<std::vector<bool>> FrozenNames(const std::vector<std::string>& names,
                                              const std::vector<std::string>& freeze);

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_STEP_POLICY_H_
