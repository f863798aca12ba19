// A pre-norm Transformer encoder layer with the parameter names of torch.nn.TransformerEncoderLayer(norm_first=True).
#ifndef DDP_WORKER_MODELS_TRANSFORMER_H_
#define DDP_WORKER_MODELS_TRANSFORMER_H_

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>

namespace ddp {

struct TransformerShape {
  int64_t dim = 128;
  int64_t heads = 4;
  int64_t ffn = 512;
  double dropout = 0.1;
};

// The tensors of one layer; they belong to the model.
struct EncoderLayer {
  at::Tensor in_proj_weight, in_proj_bias;    // [3 dim, dim], [3 dim]: query, key, value
  at::Tensor out_proj_weight, out_proj_bias;  // [dim, dim], [dim]
  at::Tensor linear1_weight, linear1_bias;    // [ffn, dim], [ffn]
  at::Tensor linear2_weight, linear2_bias;    // [dim, ffn], [dim]
  at::Tensor norm1_weight, norm1_bias;        // [dim]
  at::Tensor norm2_weight, norm2_bias;
};

// x [n * len, dim]; lengths: int64 [n], the real tokens of each text, undefined when there is no padding. Dropout when
// training.
at::Tensor EncoderLayerForward(const EncoderLayer& layer, const TransformerShape& shape, const at::Tensor& x, int64_t n,
                               const at::Tensor& lengths, bool training);

}  // namespace ddp

#endif  // DDP_WORKER_MODELS_TRANSFORMER_H_
