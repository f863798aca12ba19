// A copy that leaves the caches alone.
#ifndef DDP_WORKER_KERNELS_STREAM_COPY_H_
#define DDP_WORKER_KERNELS_STREAM_COPY_H_

#include <cstddef>

namespace ddp {

// memcpy for what is read much later: the target is written past the caches, without being read first. A third faster
// than memcpy for tens of megabytes, where glibc writes past the caches only from 3/4 of them on. Thread-safe.
void StreamCopy(const void* from, void* to, size_t bytes);

}  // namespace ddp

#endif  // DDP_WORKER_KERNELS_STREAM_COPY_H_
