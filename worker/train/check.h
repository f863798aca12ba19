// `ddp-worker --check`.
#ifndef DDP_WORKER_TRAIN_CHECK_H_
#define DDP_WORKER_TRAIN_CHECK_H_

#include "worker/report/check_io.h"

namespace ddp {

// Would this job start (or, parent_only: what was its parent made with)? Reads the head of the data and of the parent's
// weights, builds the model, trains nothing.
CheckOutput CheckSpec(const CheckInput& input);

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_CHECK_H_
