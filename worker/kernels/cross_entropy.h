// Cross entropy of rows of logits, and its gradient, in the place of the logits.
#ifndef DDP_WORKER_KERNELS_CROSS_ENTROPY_H_
#define DDP_WORKER_KERNELS_CROSS_ENTROPY_H_

#include <cstddef>
#include <cstdint>

#include "worker/kernels/elements.h"

namespace ddp {

// Of the row x (n logits, n >= 1) plus bias (n numbers, or null):
//   *loss     log(sum exp(x + bias)) - (x + bias)[target]
//   *correct  whether the target is the first of the largest
// and, when with_gradient, x becomes softmax(x + bias) minus one at the target, which is also added to bias_gradient (n
// numbers, or null). Otherwise x is left undefined. scratch: n numbers. Thread-safe.
void CrossEntropyRow(float* x, const float* bias, size_t n, size_t target, bool with_gradient, float* bias_gradient,
                     float* scratch, float* loss, bool* correct);
void CrossEntropyRow(Bf16* x, const float* bias, size_t n, size_t target, bool with_gradient, float* bias_gradient,
                     float* scratch, float* loss, bool* correct);

}  // namespace ddp

#endif  // DDP_WORKER_KERNELS_CROSS_ENTROPY_H_
