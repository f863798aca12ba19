// The randomness of a step.
#ifndef DDP_WORKER_TRAIN_STEP_SEED_H_
#define DDP_WORKER_TRAIN_STEP_SEED_H_

#include <ATen/Context.h>

#include "worker/train/mix.h"

namespace ddp {

// Dropout draws from the default generator of the model's device. Its numbers are a function of the job's seed, the
// step and the rank, so that a checkpoint stores no generator's state, neither the CPU's nor a GPU's: at::manual_seed
// sets both, and a GPU's back to the beginning of its sequence. (Mixed, because a generator of the CPU uses only the
// low half of the seed.)
inline void SeedStep(uint64_t seed, int64_t step, int rank) {
  at::manual_seed(Mix(seed, static_cast<uint64_t>(step), static_cast<uint64_t>(rank)));
}

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_STEP_SEED_H_
