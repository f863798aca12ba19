#include "worker/models/attention.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/custom_function.h>

#include "worker/kernels/attention.h"
#include "worker/models/dropout.h"
#include "worker/models/elements.h"

namespace ddp {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

AttentionShape ShapeOf(const at::Tensor& qkv, int64_t n, int64_t heads) {
  return {.len = static_cast<size_t>(qkv.size(0) / n),
          .heads = static_cast<size_t>(heads),
          .head_dim = static_cast<size_t>(qkv.size(1) / 3 / heads)};
}

const int64_t* Lengths(const at::Tensor& lengths) {
  return lengths.defined() ? lengths.const_data_ptr<int64_t>() : nullptr;
}

struct ShortAttention : torch::autograd::Function<ShortAttention> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& qkv, const std::optional<at::Tensor>& real,
                            int64_t n, int64_t heads, double dropout) {
    const Fate fate = DrawFate(dropout);
    KeepFate(context, fate);
    const at::Tensor lengths = real.value_or(at::Tensor());
    context->save_for_backward({qkv, lengths});
    context->saved_data["n"] = n;
    context->saved_data["heads"] = heads;
    const AttentionShape shape = ShapeOf(qkv, n, heads);
    at::Tensor out = at::empty({qkv.size(0), qkv.size(1) / 3}, qkv.options());
    WithElements(qkv.scalar_type(), [&](auto element) {
      const auto* in = Elements<decltype(element)>(qkv);
      auto* to = Elements<decltype(element)>(out);
      at::parallel_for(0, n, 1, [&](int64_t begin, int64_t end) {
        AttendShort(in, Lengths(lengths), shape, fate, static_cast<size_t>(begin), static_cast<size_t>(end), to);
      });
    });
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const Fate fate = KeptFate(context);
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& qkv = saved[0];
    const int64_t n = context->saved_data["n"].toInt();
    const AttentionShape shape = ShapeOf(qkv, n, context->saved_data["heads"].toInt());
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor out = at::empty_like(qkv);
    WithElements(qkv.scalar_type(), [&](auto element) {
      const auto* in = Elements<decltype(element)>(qkv);
      const auto* from = Elements<decltype(element)>(gradient);
      auto* to = Elements<decltype(element)>(out);
      at::parallel_for(0, n, 1, [&](int64_t begin, int64_t end) {
        AttendShortBackward(in, Lengths(saved[1]), shape, fate, static_cast<size_t>(begin), static_cast<size_t>(end),
                            from, to);
      });
    });
    return {out, {}, {}, {}, {}};
  }
};

}  // namespace

at::Tensor SelfAttention(const at::Tensor& qkv, const at::Tensor& lengths, int64_t n, int64_t heads, double dropout) {
  if (HasElements(qkv) && IsShort(ShapeOf(qkv, n, heads))) {
    return ShortAttention::apply(qkv.contiguous(), lengths.defined() ? std::optional(lengths) : std::nullopt, n, heads,
                                 dropout);
  }
  const int64_t len = qkv.size(0) / n;
  const int64_t dim = qkv.size(1) / 3;
  // [3, n, heads, len, dim / heads]
  const at::Tensor parts = qkv.view({n, len, 3, heads, dim / heads}).permute({2, 0, 3, 1, 4});
  std::optional<at::Tensor> keys;
  if (lengths.defined()) keys = at::arange(len, lengths.options()).lt(lengths.unsqueeze(1)).view({n, 1, 1, len});
  const at::Tensor mixed = at::scaled_dot_product_attention(parts[0], parts[1], parts[2], keys, dropout);
  return mixed.transpose(1, 2).reshape({n * len, dim});
}

}  // namespace ddp
