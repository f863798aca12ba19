#include "worker/models/token_embedding.h"

#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

namespace ddp {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// sum[token] += row of each token, in their order. (index_add_ starts an iterator for each row.)
void AddRows(const at::Tensor& tokens, const at::Tensor& rows, at::Tensor& sum) {
  const int64_t dim = sum.size(1);
  const int64_t* token = tokens.const_data_ptr<int64_t>();
  const float* row = rows.const_data_ptr<float>();
  float* to = sum.mutable_data_ptr<float>();
  for (int64_t i = 0; i < tokens.numel(); ++i) {
    for (int64_t j = 0; j < dim; ++j) to[token[i] * dim + j] += row[i * dim + j];
  }
}

struct TokenEmbeddingFunction : torch::autograd::Function<TokenEmbeddingFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& weight, const at::Tensor& tokens) {
    context->save_for_backward({weight, tokens});
    return at::index_select(weight, 0, tokens.view({-1}));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& weight = saved[0];
    const at::Tensor tokens = saved[1].view({-1});
    at::Tensor& sum = weight.mutable_grad();
    if (sum.defined() && sum.is_cpu() && sum.is_contiguous()) {
      // The reducer counts the parameter as ready after this all the same: an edge without a gradient is an edge.
      AddRows(tokens, gradients[0].contiguous(), sum);
      return {{}, {}};
    }
    return {at::embedding_dense_backward(gradients[0], tokens, weight.size(0), -1, false), {}};
  }
};

}  // namespace

at::Tensor TokenEmbedding(const at::Tensor& weight, const at::Tensor& tokens) {
  return TokenEmbeddingFunction::apply(weight, tokens);
}

}  // namespace ddp
