#include "worker/models/dropout.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <cstdint>
#include <mutex>

namespace ddp {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What decides an element's fate: kept when Hash(i ^ low, high) >= threshold.
struct Fate {
  uint32_t low = 0;
  uint32_t high = 0;
  uint32_t threshold = 0;
  float scale = 1;
};

// A 32-bit mixer (Chris Wellons' "lowbias32"): 2 multiplications, good avalanche, and it vectorizes.
inline __attribute__((always_inline)) uint32_t Hash(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  x ^= x >> 16;
  return x;
}

inline __attribute__((always_inline)) float Factor(uint32_t i, const Fate& fate) {
  return Hash((i ^ fate.low) + fate.high) >= fate.threshold ? fate.scale : 0.0F;
}

enum class Kind { kPlain, kAdd, kRelu, kReluBackward };

// kPlain: out = x f. kAdd: out = other + x f. kRelu: out = max(x, 0) f. kReluBackward: out = x * scale where other (the
// forward result) is not 0.
template <Kind kind>
inline __attribute__((always_inline)) void Loop(const float* x, const float* other, float* out, int64_t n,
                                                const Fate& fate) {
  const Fate f = fate;
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (kind == Kind::kReluBackward) {
      out[i] = other[i] != 0.0F ? x[i] * f.scale : 0.0F;
    } else {
      const float factor = Factor(static_cast<uint32_t>(i), f);
      if constexpr (kind == Kind::kPlain) out[i] = x[i] * factor;
      if constexpr (kind == Kind::kAdd) out[i] = other[i] + x[i] * factor;
      if constexpr (kind == Kind::kRelu) out[i] = (x[i] > 0.0F ? x[i] : 0.0F) * factor;
    }
  }
}

// The same loop for the instructions of the machine; element-wise, so the bits are the same.
template <Kind kind>
__attribute__((target("avx512f,avx512bw,avx512vl"), optimize("O3"))) void LoopAvx512(const float* x, const float* other,
                                                                                     float* out, int64_t n,
                                                                                     const Fate& fate) {
  Loop<kind>(x, other, out, n, fate);
}
template <Kind kind>
__attribute__((target("avx2"), optimize("O3"))) void LoopAvx2(const float* x, const float* other, float* out, int64_t n,
                                                              const Fate& fate) {
  Loop<kind>(x, other, out, n, fate);
}

template <Kind kind>
at::Tensor Apply(const at::Tensor& x, const at::Tensor& other, const Fate& fate) {
  at::Tensor out = at::empty_like(x);
  const float* in = x.const_data_ptr<float>();
  const float* second = other.defined() ? other.const_data_ptr<float>() : nullptr;
  float* to = out.mutable_data_ptr<float>();
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    LoopAvx512<kind>(in, second, to, x.numel(), fate);
  } else if (__builtin_cpu_supports("avx2")) {
    LoopAvx2<kind>(in, second, to, x.numel(), fate);
  } else {
    Loop<kind>(in, second, to, x.numel(), fate);
  }
  return out;
}

Fate DrawFate(double p) {
  auto* generator =
      at::get_generator_or_default<at::CPUGeneratorImpl>(std::nullopt, at::detail::getDefaultCPUGenerator());
  std::lock_guard lock(generator->mutex_);
  const uint64_t bits = generator->random64();
  return {.low = static_cast<uint32_t>(bits),
          .high = static_cast<uint32_t>(bits >> 32),
          .threshold = static_cast<uint32_t>(std::lround(p * 4294967296.0)),
          .scale = static_cast<float>(1 / (1 - p))};
}

void Keep(AutogradContext* context, const Fate& fate) {
  context->saved_data["bits"] = static_cast<int64_t>(static_cast<uint64_t>(fate.high) << 32 | fate.low);
  context->saved_data["threshold"] = static_cast<int64_t>(fate.threshold);
  context->saved_data["scale"] = static_cast<double>(fate.scale);
}

Fate Kept(AutogradContext* context) {
  const auto bits = static_cast<uint64_t>(context->saved_data["bits"].toInt());
  return {.low = static_cast<uint32_t>(bits),
          .high = static_cast<uint32_t>(bits >> 32),
          .threshold = static_cast<uint32_t>(context->saved_data["threshold"].toInt()),
          .scale = static_cast<float>(context->saved_data["scale"].toDouble())};
}

struct DropoutFunction : torch::autograd::Function<DropoutFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, double p) {
    const Fate fate = DrawFate(p);
    Keep(context, fate);
    return Apply<Kind::kPlain>(x, {}, fate);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {Apply<Kind::kPlain>(gradients[0].contiguous(), {}, Kept(context)), {}};
  }
};

struct AddDropoutFunction : torch::autograd::Function<AddDropoutFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& residual, const at::Tensor& x, double p) {
    const Fate fate = DrawFate(p);
    Keep(context, fate);
    return Apply<Kind::kAdd>(x, residual, fate);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {gradients[0], Apply<Kind::kPlain>(gradients[0].contiguous(), {}, Kept(context)), {}};
  }
};

struct ReluDropoutFunction : torch::autograd::Function<ReluDropoutFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, double p) {
    const Fate fate = DrawFate(p);
    Keep(context, fate);
    at::Tensor out = Apply<Kind::kRelu>(x, {}, fate);
    context->save_for_backward({out});
    return out;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {Apply<Kind::kReluBackward>(gradients[0].contiguous(), context->get_saved_variables()[0], Kept(context)),
            {}};
  }
};

bool Quick(const at::Tensor& x) {
  return x.device().is_cpu() && x.scalar_type() == at::kFloat && x.numel() <= INT64_C(0x7fffffff);
}

}  // namespace

at::Tensor Dropout(const at::Tensor& x, double p) {
  if (p <= 0) return x;
  if (!Quick(x)) return at::dropout(x, p, true);
  return DropoutFunction::apply(x.contiguous(), p);
}

at::Tensor AddDropout(const at::Tensor& residual, const at::Tensor& x, double p) {
  if (p <= 0) return residual + x;
  if (!Quick(x)) return residual + at::dropout(x, p, true);
  return AddDropoutFunction::apply(residual.contiguous(), x.contiguous(), p);
}

at::Tensor ReluDropout(const at::Tensor& x, double p) {
  if (p <= 0) return at::relu(x);
  if (!Quick(x)) return at::dropout(at::relu(x), p, true);
  return ReluDropoutFunction::apply(x.contiguous(), p);
}

}  // namespace ddp
