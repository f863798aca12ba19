// Numbers in memory.
#ifndef DDP_WORKER_KERNELS_ELEMENTS_H_
#define DDP_WORKER_KERNELS_ELEMENTS_H_

#include <cstdint>

namespace ddp {

// A bfloat16: the upper half of a float. Has the layout of c10::BFloat16.
struct Bf16 {
  uint16_t bits;
};

}  // namespace ddp

#endif  // DDP_WORKER_KERNELS_ELEMENTS_H_
