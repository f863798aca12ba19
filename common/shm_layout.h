// The memory that ddp-runner makes (memfd) and the ranks of a shared-memory group map. One file, so that both agree.
#ifndef DDP_COMMON_SHM_LAYOUT_H_
#define DDP_COMMON_SHM_LAYOUT_H_

#include <cstddef>

namespace ddp {

// A header page per rank, then two buffers per rank (one is filled while peers may still read the other).
inline constexpr size_t kShmHeaderBytes = 4096;
inline constexpr size_t kShmBufferBytes = size_t{1} << 20;

constexpr size_t ShmBytes(int world_size) {
  return static_cast<size_t>(world_size) * (kShmHeaderBytes + 2 * kShmBufferBytes);
}

}  // namespace ddp

#endif  // DDP_COMMON_SHM_LAYOUT_H_
