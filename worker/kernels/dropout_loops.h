// Dropout, alone and together with the operation beside it. All functions are thread-safe; `first` is the index of the
// first element, for callers that split the work.
#ifndef DDP_WORKER_KERNELS_DROPOUT_LOOPS_H_
#define DDP_WORKER_KERNELS_DROPOUT_LOOPS_H_

#include <cstddef>
#include <cstdint>

#include "worker/kernels/elements.h"
#include "worker/kernels/fate.h"

namespace ddp {

// out = x f, f the factor that fate gives the element.
void DropLoop(const float* x, float* out, size_t n, const Fate& fate, uint32_t first);
void DropLoop(const float* x, Bf16* out, size_t n, const Fate& fate, uint32_t first);
// out = other + x f.
void AddDropLoop(const float* other, const float* x, float* out, size_t n, const Fate& fate, uint32_t first);
void AddDropLoop(const float* other, const Bf16* x, float* out, size_t n, const Fate& fate, uint32_t first);
// out = max(x, 0) f; NaN stays NaN.
void ReluDropLoop(const float* x, float* out, size_t n, const Fate& fate, uint32_t first);
void ReluDropLoop(const Bf16* x, Bf16* out, size_t n, const Fate& fate, uint32_t first);
// The gradient of that: out = gradient scale where its result is not 0, else 0.
void ReluDropBackwardLoop(const float* gradient, const float* result, float* out, size_t n, const Fate& fate);
void ReluDropBackwardLoop(const Bf16* gradient, const Bf16* result, Bf16* out, size_t n, const Fate& fate);

}  // namespace ddp

#endif  // DDP_WORKER_KERNELS_DROPOUT_LOOPS_H_
