#if defined(DDP_WORKER_KERNELS_FATE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DDP_WORKER_KERNELS_FATE_INL_H_
#undef DDP_WORKER_KERNELS_FATE_INL_H_
#else
#define DDP_WORKER_KERNELS_FATE_INL_H_
#endif

#include "worker/kernels/elements-inl.h"
#include "worker/kernels/fate.h"

HWY_BEFORE_NAMESPACE();
namespace ddp::HWY_NAMESPACE {

// A 32-bit mixer (Chris Wellons' "lowbias32"): 2 multiplications, good avalanche, and it vectorizes.
HWY_INLINE hn::Vec<Words> Hash(hn::Vec<Words> x) {
  x = hn::Xor(x, hn::ShiftRight<16>(x));
  x = hn::Mul(x, hn::Set(Words(), 0x7feb352dU));
  x = hn::Xor(x, hn::ShiftRight<15>(x));
  x = hn::Mul(x, hn::Set(Words(), 0x846ca68bU));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

// For the elements i, i + 1, ...: scale, or 0 for those that are dropped.
HWY_INLINE Vec Factors(const Fate& fate, uint32_t i) {
  const auto index = hn::Iota(Words(), i);
  const auto hash = Hash(hn::Add(hn::Xor(index, hn::Set(Words(), fate.low)), hn::Set(Words(), fate.high)));
  const auto dropped = hn::Lt(hash, hn::Set(Words(), fate.threshold));
  return hn::IfThenZeroElse(hn::RebindMask(Floats(), dropped), hn::Set(Floats(), fate.scale));
}

}  // namespace ddp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DDP_WORKER_KERNELS_FATE_INL_H_
