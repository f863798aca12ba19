// The learning rate as a pure function, so that a resume cannot get it wrong.
#ifndef DDP_WORKER_TRAIN_SCHEDULE_H_
#define DDP_WORKER_TRAIN_SCHEDULE_H_

#include "worker/config.h"

namespace ddp {

// Of an epoch, from 0. kStep: lr * gamma^floor(epoch / step_size), the closed form of torch.optim.lr_scheduler.StepLR.
double LearningRate(const TrainingConfig& config, int64_t epoch);

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_SCHEDULE_H_
