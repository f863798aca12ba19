#include "worker/kernels/stream_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "worker/kernels/stream_copy.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ddp::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void Copy(const uint8_t* from, uint8_t* to, size_t bytes) {
  const hn::ScalableTag<uint8_t> d;
  const size_t lanes = hn::Lanes(d);
  // Only whole, aligned vectors can be streamed.
  size_t i = std::min(bytes, (lanes - reinterpret_cast<uintptr_t>(to) % lanes) % lanes);
  std::memcpy(to, from, i);
  for (; i + lanes <= bytes; i += lanes) hn::Stream(hn::LoadU(d, from + i), d, to + i);
  hwy::FlushStream();
  std::memcpy(to + i, from + i, bytes - i);
}

}  // namespace ddp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ddp {

HWY_EXPORT(Copy);

void StreamCopy(const void* from, void* to, size_t bytes) {
  if (bytes == 0) return;  // perhaps of no address
  HWY_DYNAMIC_DISPATCH(Copy)(static_cast<const uint8_t*>(from), static_cast<uint8_t*>(to), bytes);
}

}  // namespace ddp
#endif  // HWY_ONCE
