#include "worker/models/dropout.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <cstdint>
#include <mutex>

#include "worker/kernels/dropout_loops.h"
#include "worker/models/elements.h"

namespace ddp {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kGrain = 1 << 15;

// loop(begin, n, first): for the n elements from begin on.
template <typename Loop>
void Parallel(int64_t n, const Loop& loop) {
  at::parallel_for(0, n, kGrain, [&](int64_t begin, int64_t end) {
    loop(begin, static_cast<size_t>(end - begin), static_cast<uint32_t>(begin));
  });
}

// x f, of the type given.
at::Tensor Drop(const at::Tensor& x, at::ScalarType type, const Fate& fate) {
  at::Tensor out = at::empty_like(x, x.options().dtype(type));
  const float* in = x.const_data_ptr<float>();
  WithElements(type, [&](auto element) {
    auto* to = Elements<decltype(element)>(out);
    Parallel(x.numel(), [&](int64_t i, size_t n, uint32_t first) { DropLoop(in + i, to + i, n, fate, first); });
  });
  return out;
}

struct DropoutFunction : torch::autograd::Function<DropoutFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, double p) {
    const Fate fate = DrawFate(p);
    KeepFate(context, fate);
    return Drop(x, at::kFloat, fate);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {Drop(gradients[0].contiguous(), at::kFloat, KeptFate(context)), {}};
  }
};

struct AddDropoutFunction : torch::autograd::Function<AddDropoutFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& residual, const at::Tensor& x, double p) {
    const Fate fate = DrawFate(p);
    KeepFate(context, fate);
    context->saved_data["type"] = static_cast<int64_t>(x.scalar_type());
    at::Tensor out = at::empty_like(residual);
    const float* other = residual.const_data_ptr<float>();
    float* to = out.mutable_data_ptr<float>();
    WithElements(x.scalar_type(), [&](auto element) {
      const auto* in = Elements<decltype(element)>(x);
      Parallel(x.numel(),
               [&](int64_t i, size_t n, uint32_t first) { AddDropLoop(other + i, in + i, to + i, n, fate, first); });
    });
    return out;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto type = static_cast<at::ScalarType>(context->saved_data["type"].toInt());
    return {gradients[0], Drop(gradients[0].contiguous(), type, KeptFate(context)), {}};
  }
};

struct ReluDropoutFunction : torch::autograd::Function<ReluDropoutFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, double p) {
    const Fate fate = DrawFate(p);
    KeepFate(context, fate);
    at::Tensor out = at::empty_like(x);
    WithElements(x.scalar_type(), [&](auto element) {
      const auto* in = Elements<decltype(element)>(x);
      auto* to = Elements<decltype(element)>(out);
      Parallel(x.numel(), [&](int64_t i, size_t n, uint32_t first) { ReluDropLoop(in + i, to + i, n, fate, first); });
    });
    context->save_for_backward({out});
    return out;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const Fate fate = KeptFate(context);
    const at::Tensor result = context->get_saved_variables()[0];
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor out = at::empty_like(result);
    WithElements(result.scalar_type(), [&](auto element) {
      const auto* from = Elements<decltype(element)>(gradient);
      const auto* kept = Elements<decltype(element)>(result);
      auto* to = Elements<decltype(element)>(out);
      Parallel(out.numel(),
               [&](int64_t i, size_t n, uint32_t) { ReluDropBackwardLoop(from + i, kept + i, to + i, n, fate); });
    });
    return {out, {}};
  }
};

bool Quick(const at::Tensor& x) { return HasElements(x) && x.numel() <= INT64_C(0x7fffffff); }

}  // namespace

Fate DrawFate(double p) {
  if (p <= 0) return {};
  auto* generator =
      at::get_generator_or_default<at::CPUGeneratorImpl>(std::nullopt, at::detail::getDefaultCPUGenerator());
  std::lock_guard lock(generator->mutex_);
  const uint64_t bits = generator->random64();
  return {.low = static_cast<uint32_t>(bits),
          .high = static_cast<uint32_t>(bits >> 32),
          .threshold = static_cast<uint32_t>(std::lround(p * 4294967296.0)),
          .scale = static_cast<float>(1 / (1 - p))};
}

void KeepFate(AutogradContext* context, const Fate& fate) {
  context->saved_data["bits"] = static_cast<int64_t>(static_cast<uint64_t>(fate.high) << 32 | fate.low);
  context->saved_data["threshold"] = static_cast<int64_t>(fate.threshold);
  context->saved_data["scale"] = static_cast<double>(fate.scale);
}

Fate KeptFate(AutogradContext* context) {
  const auto bits = static_cast<uint64_t>(context->saved_data["bits"].toInt());
  return {.low = static_cast<uint32_t>(bits),
          .high = static_cast<uint32_t>(bits >> 32),
          .threshold = static_cast<uint32_t>(context->saved_data["threshold"].toInt()),
          .scale = static_cast<float>(context->saved_data["scale"].toDouble())};
}

at::Tensor Dropout(const at::Tensor& x, double p) {
  if (p <= 0) return x;
  if (!Quick(x) || x.scalar_type() != at::kFloat) return at::dropout(x, p, true);
  return DropoutFunction::apply(x.contiguous(), p);
}

at::Tensor AddDropout(const at::Tensor& residual, const at::Tensor& x, double p) {
  if (p <= 0) return residual + x;
  if (!Quick(x) || residual.scalar_type() != at::kFloat) return residual + at::dropout(x, p, true);
  return AddDropoutFunction::apply(residual.contiguous(), x.contiguous(), p);
}

at::Tensor ReluDropout(const at::Tensor& x, double p) {
  if (p <= 0) return at::relu(x);
  if (!Quick(x)) return at::dropout(at::relu(x), p, true);
  return ReluDropoutFunction::apply(x.contiguous(), p);
}

}  // namespace ddp
