#include "worker/train/batch_copier.h"

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <utility>

#include "worker/train/batch.h"

namespace ddp {

BatchCopier::BatchCopier(at::Device device) : device_(device) {
  // One stream for good: torch keeps freed memory apart for each stream.
  if (!device.is_cpu()) stream_ = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

BatchCopier::Copy BatchCopier::Begin(Batch batch) const {
  if (!stream_) return {.batch = std::move(batch)};
  const c10::StreamGuard guard(*stream_);
  for (at::Tensor* t : TensorsOf(batch)) {
    // The page-locked copy may be let go at once: torch keeps its memory until the transfer is done.
    *t = t->pin_memory().to(device_, /*non_blocking=*/true);
  }
  c10::Event arrived(device_.type());
  arrived.record(*stream_);
  return {.batch = std::move(batch), .arrived = std::move(arrived)};
}

Batch BatchCopier::End(Copy copy) const {
  if (!copy.arrived) return std::move(copy.batch);
  const c10::Stream computing = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
  copy.arrived->block(computing);
  // The memory belongs to the copying stream, which would otherwise fill it anew as soon as the host frees it.
  for (at::Tensor* t : TensorsOf(copy.batch)) t->record_stream(computing);
  return std::move(copy.batch);
}

}  // namespace ddp
