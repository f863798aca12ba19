#include "worker/models/chunked_cross_entropy.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

namespace ddp {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Logits of a chunk: 8 MiB on a CPU, whose caches hold little more; 256 MiB on a GPU, which needs large products.
constexpr int64_t kCpuLogits = int64_t{2} << 20;
constexpr int64_t kGpuLogits = int64_t{64} << 20;
// Fewer rows than this make a matrix product slow.
constexpr int64_t kFewestRows = 64;

at::ScalarType ProductType(at::DeviceType device) {
  return at::autocast::is_autocast_enabled(device) ? at::autocast::get_autocast_dtype(device) : at::kFloat;
}

struct ChunkedCrossEntropyFunction : torch::autograd::Function<ChunkedCrossEntropyFunction> {
  // Gives {loss, correct}.
  static variable_list forward(AutogradContext* context, const at::Tensor& h, const at::Tensor& weight,
                               const at::Tensor& targets, int64_t chunk, bool h_gradient, bool weight_gradient) {
    const at::ScalarType type = ProductType(h.device().type());
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const at::Tensor states = h.to(type);
    const at::Tensor outputs = weight.to(type);
    at::Tensor loss = at::zeros({}, h.options().dtype(at::kFloat));
    at::Tensor correct = at::zeros({}, targets.options());
    at::Tensor h_grad = h_gradient ? at::empty_like(h, h.options().dtype(at::kFloat)) : at::Tensor();
    at::Tensor weight_grad = weight_gradient ? at::zeros_like(weight) : at::Tensor();
    for (int64_t begin = 0; begin < h.size(0); begin += chunk) {
      const int64_t end = std::min(h.size(0), begin + chunk);
      const at::Tensor part = states.slice(0, begin, end);
      const at::Tensor target = targets.slice(0, begin, end);
      const at::Tensor logits = at::mm(part, outputs.t()).to(at::kFloat);
      const at::Tensor log_sum = at::logsumexp(logits, {1}, /*keepdim=*/true);
      loss += log_sum.sum() - logits.gather(1, target.unsqueeze(1)).sum();
      correct += logits.argmax(1).eq(target).sum();
      if (!h_gradient && !weight_gradient) continue;
      // The gradient of the logits: softmax - one at the target.
      at::Tensor gradient = logits.sub_(log_sum).exp_();
      gradient.scatter_add_(1, target.unsqueeze(1), at::full({end - begin, 1}, -1.0, gradient.options()));
      gradient = gradient.to(type);
      if (h_gradient) h_grad.slice(0, begin, end).copy_(at::mm(gradient, outputs));
      if (weight_gradient) AddProduct(weight_grad, gradient.t(), part);
    }
    context->saved_data["h"] = h_gradient ? h_grad.to(h.scalar_type()) : h_grad;
    context->saved_data["weight"] = weight_grad;
    context->mark_non_differentiable({correct});
    return {loss, correct};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto scaled = [&](const char* name) {
      const at::Tensor& saved = context->saved_data[name].toTensor();
      return saved.defined() ? saved.mul_(gradients[0].to(saved.scalar_type())) : at::Tensor();
    };
    return {scaled("h"), scaled("weight"), {}, {}, {}, {}};
  }

 private:
  // sum += a b, in float32.
  static void AddProduct(at::Tensor& sum, const at::Tensor& a, const at::Tensor& b) {
    if (a.scalar_type() == sum.scalar_type()) {
      sum.addmm_(a, b);
    } else {
      sum.add_(at::mm(a, b));
    }
  }
};

}  // namespace

LossSums ChunkedCrossEntropy(const at::Tensor& h, const at::Tensor& weight, const at::Tensor& targets, int64_t chunk) {
  if (chunk == 0) chunk = std::max(kFewestRows, (h.is_cpu() ? kCpuLogits : kGpuLogits) / weight.size(0));
  const bool differentiable = at::GradMode::is_enabled();
  const variable_list results = ChunkedCrossEntropyFunction::apply(
      h, weight, targets, chunk, differentiable && h.requires_grad(), differentiable && weight.requires_grad());
  return {.loss = results[0], .correct = results[1], .count = targets.size(0)};
}

}  // namespace ddp
