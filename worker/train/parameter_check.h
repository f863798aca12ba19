// Are the ranks still one model?
#ifndef DDP_WORKER_TRAIN_PARAMETER_CHECK_H_
#define DDP_WORKER_TRAIN_PARAMETER_CHECK_H_

#include <cstdint>
#include <string>

#include "worker/dist/group.h"
#include "worker/models/model.h"

namespace ddp {

// XXH3-64 over the bytes of all parameters, in the model's order.
uint64_t ParameterChecksum(const Model& model);

// Compares the checksum over all ranks; NoRetryError names the ranks that differ from rank 0. Also refuses parameters
// that are not finite. Returns the checksum.
uint64_t CheckSameParameters(const Model& model, Group& group, int64_t step);

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_PARAMETER_CHECK_H_
