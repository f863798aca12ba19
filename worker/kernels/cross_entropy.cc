#include "worker/kernels/cross_entropy.h"

#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "worker/kernels/cross_entropy.cc"
#include <hwy/foreach_target.h>
// Per target, after foreach_target.h.
#include "worker/kernels/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ddp::HWY_NAMESPACE {

// A row is passed over three times: it stays in the second cache.
template <typename X>
void Row(X* x, const float* bias, size_t n, size_t target, bool with_gradient, float* bias_gradient, float* scratch,
         float* loss, bool* correct) {
  const Floats floats;
  Vec largest = hn::Set(floats, -std::numeric_limits<float>::infinity());
  float largest_of_rest = -std::numeric_limits<float>::infinity();
  const size_t whole = n - n % Lanes();
  ForVectors(n, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
    Vec value = load(x);
    if (bias != nullptr) value = hn::Add(value, load(bias));
    store(value, scratch);
    if (i < whole) largest = hn::Max(largest, value);
  });
  for (size_t i = whole; i < n; ++i) largest_of_rest = HWY_MAX(largest_of_rest, scratch[i]);
  const float top = HWY_MAX(hn::GetLane(hn::MaxOfLanes(floats, largest)), largest_of_rest);
  const float at_target = scratch[target];
  *correct = at_target >= top;
  for (size_t i = 0; *correct && i < target; ++i) *correct = scratch[i] < at_target;

  Vec sum = hn::Zero(floats);
  float sum_of_rest = 0;
  const Vec shift = hn::Set(floats, top);
  ForVectors(n, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
    const Vec e = Exp(hn::Sub(load(scratch), shift));
    store(e, scratch);
    if (i < whole) sum = hn::Add(sum, e);
  });
  for (size_t i = whole; i < n; ++i) sum_of_rest += scratch[i];
  const float total = hn::GetLane(hn::SumOfLanes(floats, sum)) + sum_of_rest;
  *loss = std::log(total) + (top - at_target);
  if (!with_gradient) return;

  scratch[target] -= total;
  const Vec inverse = hn::Set(floats, 1 / total);
  ForVectors(n, [&](size_t, const auto& load, const auto& store) HWY_ATTR {
    const Vec gradient = hn::Mul(load(scratch), inverse);
    store(gradient, x);
    if (bias_gradient != nullptr) store(hn::Add(load(bias_gradient), gradient), bias_gradient);
  });
}

// One name per type: Highway chooses by name.
void RowF(float* x, const float* bias, size_t n, size_t target, bool with_gradient, float* bias_gradient,
          float* scratch, float* loss, bool* correct) {
  Row(x, bias, n, target, with_gradient, bias_gradient, scratch, loss, correct);
}
void RowB(Bf16* x, const float* bias, size_t n, size_t target, bool with_gradient, float* bias_gradient, float* scratch,
          float* loss, bool* correct) {
  Row(x, bias, n, target, with_gradient, bias_gradient, scratch, loss, correct);
}

}  // namespace ddp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ddp {

HWY_EXPORT(RowF);
HWY_EXPORT(RowB);

void CrossEntropyRow(float* x, const float* bias, size_t n, size_t target, bool with_gradient, float* bias_gradient,
                     float* scratch, float* loss, bool* correct) {
  HWY_DYNAMIC_DISPATCH(RowF)(x, bias, n, target, with_gradient, bias_gradient, scratch, loss, correct);
}
void CrossEntropyRow(Bf16* x, const float* bias, size_t n, size_t target, bool with_gradient, float* bias_gradient,
                     float* scratch, float* loss, bool* correct) {
  HWY_DYNAMIC_DISPATCH(RowB)(x, bias, n, target, with_gradient, bias_gradient, scratch, loss, correct);
}

}  // namespace ddp
#endif  // HWY_ONCE
