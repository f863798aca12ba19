// Self-attention of short texts. A batched matrix product of 12 x 12 matrices and the copies around it cost several
// times their arithmetic; here the projections are read where they lie, and nothing is kept for the backward pass.
#ifndef DDP_WORKER_KERNELS_ATTENTION_H_
#define DDP_WORKER_KERNELS_ATTENTION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "worker/kernels/elements.h"
#include "worker/kernels/fate.h"

namespace ddp {

struct AttentionShape {
  size_t len = 0;  // tokens of each text, padding included
  size_t heads = 0;
  size_t head_dim = 0;
};

inline constexpr size_t kLongestShortText = 64;
inline constexpr size_t kWidestHead = 128;
// Whether the two functions below take it.
inline bool IsShort(const AttentionShape& shape) {
  return shape.len >= 1 && shape.len <= kLongestShortText && shape.head_dim % 16 == 0 && shape.head_dim >= 16 &&
         shape.head_dim <= kWidestHead;
}

// For the texts t in [begin, end), each head h, and the first lengths[t] of the shape.len tokens of a text:
//   P = softmax(Q K^T / sqrt(head_dim)), dropped out by fate, out = P V
// qkv: [texts, len, 3, heads, head_dim] (query, key, value); out: [texts, len, heads, head_dim], 0 at the padding.
// lengths: null when no text has padding. Each 1 <= lengths[t] <= len. Thread-safe.
void AttendShort(const float* qkv, const int64_t* lengths, const AttentionShape& shape, const Fate& fate, size_t begin,
                 size_t end, float* out);
void AttendShort(const Bf16* qkv, const int64_t* lengths, const AttentionShape& shape, const Fate& fate, size_t begin,
                 size_t end, Bf16* out);

// The gradient of qkv, given that of out; that of the padding is not looked at.
void AttendShortBackward(const float* qkv, const int64_t* lengths, const AttentionShape& shape, const Fate& fate,
                         size_t begin, size_t end, const float* out_gradient, float* qkv_gradient);
void AttendShortBackward(const Bf16* qkv, const int64_t* lengths, const AttentionShape& shape, const Fate& fate,
                         size_t begin, size_t end, const Bf16* out_gradient, Bf16* qkv_gradient);

}  // namespace ddp

#endif  // DDP_WORKER_KERNELS_ATTENTION_H_
