#include "worker/models/transformer.h"

#include <ATen/Functions.h>

#include "worker/models/attention.h"
#include "worker/models/dropout.h"

namespace ddp {

at::Tensor EncoderLayerForward(const EncoderLayer& layer, const TransformerShape& shape, const at::Tensor& x, int64_t n,
                               const at::Tensor& lengths, bool training) {
  const double p = training ? shape.dropout : 0.0;
  auto norm = [&](const at::Tensor& t, const at::Tensor& weight, const at::Tensor& bias) {
    return at::layer_norm(t, {shape.dim}, weight, bias);
  };
  const at::Tensor qkv =
      at::linear(norm(x, layer.norm1_weight, layer.norm1_bias), layer.in_proj_weight, layer.in_proj_bias);
  const at::Tensor mixed = SelfAttention(qkv, lengths, n, shape.heads, p);
  const at::Tensor attended = AddDropout(x, at::linear(mixed, layer.out_proj_weight, layer.out_proj_bias), p);
  const at::Tensor inner = ReluDropout(
      at::linear(norm(attended, layer.norm2_weight, layer.norm2_bias), layer.linear1_weight, layer.linear1_bias), p);
  return AddDropout(attended, at::linear(inner, layer.linear2_weight, layer.linear2_bias), p);
}

}  // namespace ddp
