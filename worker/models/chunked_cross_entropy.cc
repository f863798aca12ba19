#include "worker/models/chunked_cross_entropy.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <vector>

#include "worker/kernels/cross_entropy.h"
#include "worker/models/elements.h"

namespace ddp {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Logits of a chunk: 8 MiB on a CPU, whose caches hold little more; 256 MiB on a GPU, which needs large products.
constexpr int64_t kCpuLogits = int64_t{2} << 20;
constexpr int64_t kGpuLogits = int64_t{64} << 20;
// Fewer rows than this make a matrix product slow.
constexpr int64_t kFewestRows = 64;
// Products in bfloat16 on a CPU get a program of their own, compiled as they are met, for each number of rows: rows of
// zeros make it one of few.
constexpr int64_t kRowsStep = 32;

at::ScalarType ProductType(at::DeviceType device) {
  return at::autocast::is_autocast_enabled(device) ? at::autocast::get_autocast_dtype(device) : at::kFloat;
}

// Sums over the chunks.
struct Sums {
  at::Tensor loss;
  at::Tensor correct;
  at::Tensor bias_gradient;  // undefined: not wanted
};

// Of a chunk of logits (without bias; there may be more rows than targets, all zero): adds to the sums; gives the
// gradient of the logits, of their type.
at::Tensor ChunkOnCpu(at::Tensor logits, const at::Tensor& bias, const at::Tensor& targets, bool with_gradient,
                      Sums& sums) {
  const int64_t rows = targets.size(0);
  const int64_t width = logits.size(1);
  // Each thread has a bias gradient of its own, and scratch; of one thread it is the sum itself.
  const int64_t threads = at::get_num_threads();
  const int64_t rows_each = (rows + threads - 1) / threads;
  const bool bias_gradients = with_gradient && sums.bias_gradient.defined();
  at::Tensor gradients = threads == 1 ? sums.bias_gradient : at::Tensor();
  if (bias_gradients && threads > 1) gradients = at::zeros({threads, width}, sums.bias_gradient.options());
  at::Tensor scratch = at::empty({threads, width}, at::kFloat);
  std::vector<double> losses(static_cast<size_t>(threads));
  std::vector<int64_t> correct(static_cast<size_t>(threads));
  const float* b = bias.defined() ? bias.const_data_ptr<float>() : nullptr;
  const int64_t* target = targets.const_data_ptr<int64_t>();
  WithElements(logits.scalar_type(), [&](auto element) {
    auto* x = Elements<decltype(element)>(logits);
    at::parallel_for(0, threads, 1, [&](int64_t first, int64_t last) {
      for (int64_t t = first; t < last; ++t) {
        float* own = bias_gradients ? gradients.mutable_data_ptr<float>() + t * width : nullptr;
        float* space = scratch.mutable_data_ptr<float>() + t * width;
        for (int64_t i = t * rows_each; i < std::min(rows, (t + 1) * rows_each); ++i) {
          float loss = 0;
          bool right = false;
          CrossEntropyRow(x + i * width, b, static_cast<size_t>(width), static_cast<size_t>(target[i]), with_gradient,
                          own, space, &loss, &right);
          losses[static_cast<size_t>(t)] += loss;
          correct[static_cast<size_t>(t)] += right ? 1 : 0;
        }
      }
    });
  });
  for (size_t t = 0; t < losses.size(); ++t) {
    sums.loss.add_(losses[t]);
    sums.correct.add_(correct[t]);
  }
  if (bias_gradients && threads > 1) sums.bias_gradient.add_(gradients.sum(0));
  return logits;
}

// The same on any device.
at::Tensor Chunk(const at::Tensor& products, const at::Tensor& bias, const at::Tensor& targets, bool with_gradient,
                 Sums& sums) {
  at::Tensor logits = products.to(at::kFloat);
  if (bias.defined()) logits.add_(bias);
  const at::Tensor log_sum = at::logsumexp(logits, {1}, /*keepdim=*/true);
  const at::Tensor target = targets.unsqueeze(1);
  sums.loss += log_sum.sum() - logits.gather(1, target).sum();
  sums.correct += logits.argmax(1).eq(targets).sum();
  if (!with_gradient) return {};
  // The gradient of the logits: softmax - one at the target.
  at::Tensor gradient = logits.sub_(log_sum).exp_();
  gradient.scatter_add_(1, target, at::full({targets.size(0), 1}, -1.0, gradient.options()));
  if (sums.bias_gradient.defined()) sums.bias_gradient += gradient.sum(0);
  return gradient.to(products.scalar_type());
}

struct ChunkedCrossEntropyFunction : torch::autograd::Function<ChunkedCrossEntropyFunction> {
  // outputs: weight as the products want it. wanted: of h, weight and bias, whether its gradient is. Gives
  // {loss, correct}.
  static variable_list forward(AutogradContext* context, const at::Tensor& h, const at::Tensor& weight,
                               const std::optional<at::Tensor>& added, const at::Tensor& outputs,
                               const at::Tensor& targets, int64_t chunk, const std::vector<bool>& wanted) {
    const at::Tensor bias = added.value_or(at::Tensor());
    const at::ScalarType type = outputs.scalar_type();
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const int64_t rows = h.size(0);
    const int64_t missing = h.is_cpu() && type != at::kFloat ? (kRowsStep - rows % kRowsStep) % kRowsStep : 0;
    const at::Tensor states = missing > 0 ? at::constant_pad_nd(h.to(type), {0, 0, 0, missing}) : h.to(type);
    const bool any_wanted = wanted[0] || wanted[1] || wanted[2];
    Sums sums{.loss = at::zeros({}, h.options().dtype(at::kFloat)),
              .correct = at::zeros({}, targets.options()),
              .bias_gradient = wanted[2] ? at::zeros_like(bias) : at::Tensor()};
    at::Tensor h_gradient = wanted[0] ? at::empty_like(h, h.options().dtype(at::kFloat)) : at::Tensor();
    at::Tensor weight_gradient;
    for (int64_t begin = 0; begin < rows; begin += chunk) {
      const int64_t end = std::min(rows, begin + chunk);
      const at::Tensor part = states.slice(0, begin, end == rows ? rows + missing : end);
      const at::Tensor target = targets.slice(0, begin, end);
      const at::Tensor products = at::mm(part, outputs.t());
      const at::Tensor gradient = HasElements(products) ? ChunkOnCpu(products, bias, target, any_wanted, sums)
                                                        : Chunk(products, bias, target, any_wanted, sums);
      if (wanted[0]) h_gradient.slice(0, begin, end).copy_(at::mm(gradient, outputs).slice(0, 0, end - begin));
      if (wanted[1]) AddProduct(weight_gradient, gradient.t(), part);
    }
    if (wanted[1] && !weight_gradient.defined()) weight_gradient = at::zeros_like(weight);
    context->saved_data["h"] = wanted[0] ? h_gradient.to(h.scalar_type()) : h_gradient;
    context->saved_data["weight"] = weight_gradient;
    context->saved_data["bias"] = sums.bias_gradient;
    context->mark_non_differentiable({sums.correct});
    return {sums.loss, sums.correct};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    // Nearly always 1; asking a GPU would mean to wait for it.
    const bool one = gradients[0].is_cpu() && gradients[0].item<double>() == 1;
    const auto scaled = [&](const char* name) {
      const at::Tensor& saved = context->saved_data[name].toTensor();
      return saved.defined() && !one ? saved.mul_(gradients[0].to(saved.scalar_type())) : saved;
    };
    return {scaled("h"), scaled("weight"), scaled("bias"), {}, {}, {}, {}};
  }

 private:
  // sum += a b, in float32.
  static void AddProduct(at::Tensor& sum, const at::Tensor& a, const at::Tensor& b) {
    if (!sum.defined()) {
      sum = at::mm(a, b).to(at::kFloat);
    } else if (a.scalar_type() == sum.scalar_type()) {
      sum.addmm_(a, b);
    } else {
      sum.add_(at::mm(a, b));
    }
  }
};

}  // namespace

LossSums ChunkedCrossEntropy(const at::Tensor& h, const at::Tensor& weight, const at::Tensor& bias,
                             const at::Tensor& targets, int64_t chunk) {
  if (chunk == 0) chunk = std::max(kFewestRows, (h.is_cpu() ? kCpuLogits : kGpuLogits) / weight.size(0));
  const auto wanted = [](const at::Tensor& t) {
    return at::GradMode::is_enabled() && t.defined() && t.requires_grad();
  };
  const c10::DeviceType device = h.device().type();
  const at::Tensor outputs = at::autocast::cached_cast(ProductType(device), weight, device).detach();
  const variable_list results =
      ChunkedCrossEntropyFunction::apply(h, weight, bias.defined() ? std::optional(bias) : std::nullopt, outputs,
                                         targets, chunk, std::vector<bool>{wanted(h), wanted(weight), wanted(bias)});
  return {.loss = results[0], .correct = results[1], .count = targets.size(0)};
}

}  // namespace ddp
