// Validation.
#ifndef DDP_WORKER_TRAIN_EVALUATE_H_
#define DDP_WORKER_TRAIN_EVALUATE_H_

#include <functional>
#include <optional>

#include "worker/dist/group.h"
#include "worker/models/model.h"
#include "worker/train/batch.h"
#include "worker/train/batch_copier.h"

namespace ddp {

struct Evaluation {
  double loss = 0;                 // mean over what was counted, global
  std::optional<double> accuracy;  // unset: the objective has none
  int64_t count = 0;
};

// Counts each of the n samples exactly once on any number of ranks; no gradient, no dropout, no random number, no
// sampler. Unset when any rank's should_stop said so on the way (all ranks agree). With a count of 0 (nothing to
// predict) there is no mean: the metric is absent, not 0.
std::optional<Evaluation> Evaluate(Model& model, const BatchMaker& maker, const BatchCopier& copier, int64_t n,
                                   int64_t micro_batch, Group& group, bool bf16,
                                   const std::function<bool()>& should_stop);

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_EVALUATE_H_
