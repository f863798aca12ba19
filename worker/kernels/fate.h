// Which elements dropout drops: a hash of the element's index decides, so the backward pass computes the same again
// instead of storing it.
#ifndef DDP_WORKER_KERNELS_FATE_H_
#define DDP_WORKER_KERNELS_FATE_H_

#include <cstdint>

namespace ddp {

// The element i is kept, and multiplied by `scale`, when Hash((i ^ low) + high) >= threshold. As it stands: all are.
struct Fate {
  uint32_t low = 0;
  uint32_t high = 0;
  uint32_t threshold = 0;
  float scale = 1;
};

}  // namespace ddp

#endif  // DDP_WORKER_KERNELS_FATE_H_
