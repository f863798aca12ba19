// The embedding of tokens.
#ifndef DDP_WORKER_MODELS_TOKEN_EMBEDDING_H_
#define DDP_WORKER_MODELS_TOKEN_EMBEDDING_H_

#include <ATen/core/Tensor.h>

namespace ddp {

// weight[token]: [n * len, dim] for tokens int64 [n, len], weight float [vocab, dim]. Differentiable once in weight.
// On the CPU, where weight.grad is there already, its rows are added to directly and nothing is handed on: the gradient
// of a whole vocabulary for each micro-batch, nearly all zeros, took a tenth of a step.
at::Tensor TokenEmbedding(const at::Tensor& weight, const at::Tensor& tokens);

}  // namespace ddp

#endif  // DDP_WORKER_MODELS_TOKEN_EMBEDDING_H_
