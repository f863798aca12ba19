// Self-attention without a look at the order of tokens.
#ifndef DDP_WORKER_MODELS_ATTENTION_H_
#define DDP_WORKER_MODELS_ATTENTION_H_

#include <ATen/core/Tensor.h>

namespace ddp {

// softmax(Q K^T / sqrt(dim / heads)) V of each head, [n * len, dim]. qkv [n * len, 3 dim]: query, key, value of each
// token. lengths: int64 [n], the real tokens of each text, which come first; undefined when there is no padding. At the
// padding the result is 0 or that of a token. dropout: of the softmax. Differentiable once. Short texts on the CPU
// take a quick way, everything else at::scaled_dot_product_attention.
at::Tensor SelfAttention(const at::Tensor& qkv, const at::Tensor& lengths, int64_t n, int64_t heads, double dropout);

}  // namespace ddp

#endif  // DDP_WORKER_MODELS_ATTENTION_H_
