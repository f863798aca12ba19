// Where the ranks of an attempt meet: made before any of them starts, and handed to them as descriptors.
#ifndef DDP_COMMON_RENDEZVOUS_H_
#define DDP_COMMON_RENDEZVOUS_H_

#include "absl/status/statusor.h"
#include "common/files.h"

namespace ddp {

// Listens on 127.0.0.1, any free port. Rank 0 serves the store on it.
struct StoreSocket {
  UniqueFd fd;
  int port = 0;
};
absl::StatusOr<StoreSocket> BindStore();

// The memory of a shared-memory group (shm_layout.h).
absl::StatusOr<UniqueFd> MakeSharedMemory(int world_size);

}  // namespace ddp

#endif  // DDP_COMMON_RENDEZVOUS_H_
