#include "worker/models/transformer.h"

#include <ATen/Functions.h>

#include "worker/models/dropout.h"

namespace ddp {

namespace {

at::Tensor Attention(const EncoderLayer& layer, const TransformerShape& shape, const at::Tensor& x,
                     const at::Tensor& mask, bool training) {
  const int64_t n = x.size(0);
  const int64_t len = x.size(1);
  // [3, n, heads, len, dim / heads]
  const at::Tensor qkv = at::linear(x, layer.in_proj_weight, layer.in_proj_bias)
                             .view({n, len, 3, shape.heads, shape.dim / shape.heads})
                             .permute({2, 0, 3, 1, 4});
  std::optional<at::Tensor> keys;
  if (mask.defined()) keys = mask.view({n, 1, 1, len});
  const at::Tensor mixed =
      at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], keys, training ? shape.dropout : 0.0);
  return at::linear(mixed.transpose(1, 2).reshape({n, len, shape.dim}), layer.out_proj_weight, layer.out_proj_bias);
}

}  // namespace

at::Tensor EncoderLayerForward(const EncoderLayer& layer, const TransformerShape& shape, const at::Tensor& x,
                               const at::Tensor& mask, bool training) {
  const double p = training ? shape.dropout : 0.0;
  auto norm = [&](const at::Tensor& t, const at::Tensor& weight, const at::Tensor& bias) {
    return at::layer_norm(t, {shape.dim}, weight, bias);
  };
  const at::Tensor attended =
      AddDropout(x, Attention(layer, shape, norm(x, layer.norm1_weight, layer.norm1_bias), mask, training), p);
  const at::Tensor inner = ReluDropout(
      at::linear(norm(attended, layer.norm2_weight, layer.norm2_bias), layer.linear1_weight, layer.linear1_bias), p);
  return AddDropout(attended, at::linear(inner, layer.linear2_weight, layer.linear2_bias), p);
}

}  // namespace ddp
