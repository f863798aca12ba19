#include "worker/kernels/dropout_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "worker/kernels/dropout_loops.cc"
#include <hwy/foreach_target.h>
// Per target, after foreach_target.h.
#include "worker/kernels/fate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ddp::HWY_NAMESPACE {

template <typename Out>
void Drop(const float* x, Out* out, size_t n, const Fate& fate, uint32_t first) {
  ForVectors(n, [&](size_t i, const auto& load, const auto& store)
                    HWY_ATTR { store(hn::Mul(load(x), Factors(fate, first + static_cast<uint32_t>(i))), out); });
}

template <typename X>
void AddDrop(const float* other, const X* x, float* out, size_t n, const Fate& fate, uint32_t first) {
  ForVectors(n, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
    store(hn::MulAdd(load(x), Factors(fate, first + static_cast<uint32_t>(i)), load(other)), out);
  });
}

template <typename X>
void ReluDrop(const X* x, X* out, size_t n, const Fate& fate, uint32_t first) {
  ForVectors(n, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
    const Vec value = load(x);
    const Vec positive = hn::IfThenZeroElse(hn::Le(value, hn::Zero(Floats())), value);
    store(hn::Mul(positive, Factors(fate, first + static_cast<uint32_t>(i))), out);
  });
}

template <typename X>
void ReluDropBackward(const X* gradient, const X* result, X* out, size_t n, const Fate& fate) {
  const Vec scale = hn::Set(Floats(), fate.scale);
  ForVectors(n, [&](size_t, const auto& load, const auto& store) HWY_ATTR {
    const auto dropped = hn::Eq(load(result), hn::Zero(Floats()));
    store(hn::IfThenZeroElse(dropped, hn::Mul(load(gradient), scale)), out);
  });
}

// One name per type: Highway chooses by name.
void DropF(const float* x, float* out, size_t n, const Fate& fate, uint32_t first) { Drop(x, out, n, fate, first); }
void DropB(const float* x, Bf16* out, size_t n, const Fate& fate, uint32_t first) { Drop(x, out, n, fate, first); }
void AddDropF(const float* other, const float* x, float* out, size_t n, const Fate& fate, uint32_t first) {
  AddDrop(other, x, out, n, fate, first);
}
void AddDropB(const float* other, const Bf16* x, float* out, size_t n, const Fate& fate, uint32_t first) {
  AddDrop(other, x, out, n, fate, first);
}
void ReluDropF(const float* x, float* out, size_t n, const Fate& fate, uint32_t first) {
  ReluDrop(x, out, n, fate, first);
}
void ReluDropB(const Bf16* x, Bf16* out, size_t n, const Fate& fate, uint32_t first) {
  ReluDrop(x, out, n, fate, first);
}
void ReluDropBackwardF(const float* gradient, const float* result, float* out, size_t n, const Fate& fate) {
  ReluDropBackward(gradient, result, out, n, fate);
}
void ReluDropBackwardB(const Bf16* gradient, const Bf16* result, Bf16* out, size_t n, const Fate& fate) {
  ReluDropBackward(gradient, result, out, n, fate);
}

}  // namespace ddp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ddp {

HWY_EXPORT(DropF);
HWY_EXPORT(DropB);
HWY_EXPORT(AddDropF);
HWY_EXPORT(AddDropB);
HWY_EXPORT(ReluDropF);
HWY_EXPORT(ReluDropB);
HWY_EXPORT(ReluDropBackwardF);
HWY_EXPORT(ReluDropBackwardB);

void DropLoop(const float* x, float* out, size_t n, const Fate& fate, uint32_t first) {
  HWY_DYNAMIC_DISPATCH(DropF)(x, out, n, fate, first);
}
void DropLoop(const float* x, Bf16* out, size_t n, const Fate& fate, uint32_t first) {
  HWY_DYNAMIC_DISPATCH(DropB)(x, out, n, fate, first);
}
void AddDropLoop(const float* other, const float* x, float* out, size_t n, const Fate& fate, uint32_t first) {
  HWY_DYNAMIC_DISPATCH(AddDropF)(other, x, out, n, fate, first);
}
void AddDropLoop(const float* other, const Bf16* x, float* out, size_t n, const Fate& fate, uint32_t first) {
  HWY_DYNAMIC_DISPATCH(AddDropB)(other, x, out, n, fate, first);
}
void ReluDropLoop(const float* x, float* out, size_t n, const Fate& fate, uint32_t first) {
  HWY_DYNAMIC_DISPATCH(ReluDropF)(x, out, n, fate, first);
}
void ReluDropLoop(const Bf16* x, Bf16* out, size_t n, const Fate& fate, uint32_t first) {
  HWY_DYNAMIC_DISPATCH(ReluDropB)(x, out, n, fate, first);
}
void ReluDropBackwardLoop(const float* gradient, const float* result, float* out, size_t n, const Fate& fate) {
  HWY_DYNAMIC_DISPATCH(ReluDropBackwardF)(gradient, result, out, n, fate);
}
void ReluDropBackwardLoop(const Bf16* gradient, const Bf16* result, Bf16* out, size_t n, const Fate& fate) {
  HWY_DYNAMIC_DISPATCH(ReluDropBackwardB)(gradient, result, out, n, fate);
}

}  // namespace ddp
#endif  // HWY_ONCE
