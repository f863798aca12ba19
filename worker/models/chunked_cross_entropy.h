// Cross entropy of a language model without its logits: for a vocabulary of 50,257, the logits of 4,096 positions and
// their gradients take 1.6 GB; here the largest thing in memory is one chunk of them.
#ifndef DDP_WORKER_MODELS_CHUNKED_CROSS_ENTROPY_H_
#define DDP_WORKER_MODELS_CHUNKED_CROSS_ENTROPY_H_

#include <ATen/core/Tensor.h>

#include "worker/models/model.h"

namespace ddp {

// That of ClassificationSums(h weight^T + bias, targets), chunk by chunk; the gradients are computed on the way
// forward. h [m, d], weight [vocab, d], bias float [vocab] or undefined, targets int64 [m] inside the vocabulary, m may
// be 0. Differentiable once in h, weight and bias. Follows autocast, with float32 sums. chunk: positions at once; 0:
// chosen by the vocabulary and the device.
LossSums ChunkedCrossEntropy(const at::Tensor& h, const at::Tensor& weight, const at::Tensor& bias,
                             const at::Tensor& targets, int64_t chunk = 0);

}  // namespace ddp

#endif  // DDP_WORKER_MODELS_CHUNKED_CROSS_ENTROPY_H_
