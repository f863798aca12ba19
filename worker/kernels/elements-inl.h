// Vectors of floats out of and into memory that holds float or bfloat16. Included once per instruction set, as Highway
// does it.
#if defined(DDP_WORKER_KERNELS_ELEMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DDP_WORKER_KERNELS_ELEMENTS_INL_H_
#undef DDP_WORKER_KERNELS_ELEMENTS_INL_H_
#else
#define DDP_WORKER_KERNELS_ELEMENTS_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "worker/kernels/elements.h"

HWY_BEFORE_NAMESPACE();
namespace ddp::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
using Words = hn::RebindToUnsigned<Floats>;
using Vec = hn::Vec<Floats>;

HWY_INLINE size_t Lanes() { return hn::Lanes(Floats()); }

HWY_INLINE Vec LoadFloats(const float* p) { return hn::LoadU(Floats(), p); }
HWY_INLINE Vec LoadFloats(const Bf16* p) {
  const hn::Rebind<uint16_t, Floats> halves;
  const hn::RebindToSigned<Floats> integers;
  const auto bits = hn::PromoteTo(integers, hn::LoadU(halves, &p->bits));
  return hn::BitCast(Floats(), hn::ShiftLeft<16>(bits));
}

HWY_INLINE void StoreFloats(Vec v, float* p) { hn::StoreU(v, Floats(), p); }
// To the nearest, ties to even. (A NaN whose bits are all ones would overflow; arithmetic makes none.)
HWY_INLINE void StoreFloats(Vec v, Bf16* p) {
  const hn::Rebind<uint16_t, Floats> halves;
  const hn::RebindToSigned<Floats> integers;
  const auto bits = hn::BitCast(Words(), v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(Words(), 1));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(Words(), 0x7fff)));
  hn::StoreU(hn::DemoteTo(halves, hn::BitCast(integers, hn::ShiftRight<16>(rounded))), halves, &p->bits);
}

// Of numbers up to 0. Highway's own makes 0 of NaN, and a loss that is none would look fine.
HWY_INLINE Vec Exp(Vec v) { return hn::IfThenElse(hn::IsNaN(v), v, hn::Exp(Floats(), v)); }

// Calls body(i, load, store) for each vector of n elements. load(p) gives the elements i, i + 1, ... of the array p,
// and store(v, p) writes them; of the last, incomplete vector only what is there is read (the rest is 0) and written.
template <typename Body>
HWY_INLINE void ForVectors(size_t n, const Body& body) {
  const size_t lanes = Lanes();
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    body(
        i, [&](const auto* p) HWY_ATTR { return LoadFloats(p + i); },
        [&](Vec v, auto* p) HWY_ATTR { StoreFloats(v, p + i); });
  }
  if (i == n) return;
  const size_t rest = n - i;
  const auto load = [&](const auto* p) HWY_ATTR {
    HWY_ALIGN std::remove_const_t<std::remove_pointer_t<decltype(p)>> buffer[16] = {};
    for (size_t j = 0; j < rest; ++j) buffer[j] = p[i + j];
    return LoadFloats(buffer);
  };
  const auto store = [&](Vec v, auto* p) HWY_ATTR {
    HWY_ALIGN std::remove_pointer_t<decltype(p)> buffer[16];
    StoreFloats(v, buffer);
    for (size_t j = 0; j < rest; ++j) p[i + j] = buffer[j];
  };
  body(i, load, store);
}

}  // namespace ddp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DDP_WORKER_KERNELS_ELEMENTS_INL_H_
