// The learning rate as a pure function, so that a resume cannot get it wrong.
#ifndef DDP_WORKER_TRAIN_SCHEDULE_H_
#define DDP_WORKER_TRAIN_SCHEDULE_H_

#include "worker/config.h"

namespace ddp {

// Of the optimizer step that follows `step` done ones, in `epoch` (from 0), of `total_steps` in all. With w warm-up
// steps, the first w rates are those of the schedule times (step + 1) / w. In closed form, as in
// torch.optim.lr_scheduler:
//   step       lr * gamma^floor(epoch / step_size)                    StepLR
//   multistep  lr * gamma^(milestones <= epoch)                       MultiStepLR
//   cosine     min_lr + (lr - min_lr) * (1 + cos(pi * t)) / 2         CosineAnnealingLR(T_max = total_steps - w)
//   linear     lr + (min_lr - lr) * t                                 LinearLR(total_iters = total_steps - w)
// with t = (step - w) / (total_steps - w), from 0 at the end of the warm-up to almost 1 at the last step.
double LearningRate(const TrainingConfig& config, int64_t epoch, int64_t step, int64_t total_steps);

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_SCHEDULE_H_
