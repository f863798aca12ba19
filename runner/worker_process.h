// Starting the ranks of an attempt.
#ifndef DDP_RUNNER_WORKER_PROCESS_H_
#define DDP_RUNNER_WORKER_PROCESS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/files.h"
#include "common/process.h"
#include "ddp/v1/worker.pb.h"

namespace ddp {

// One rank, seen from the runner. The socket carries WorkerCommand there and WorkerEvent back, framed.
struct WorkerProcess {
  Child child;  // leader of its own process group
  UniqueFd socket;
};

struct StartedRanks {
  std::vector<WorkerProcess> ranks;
  int store_port = 0;
};

// Binds the store's socket, makes the group's memory, starts one process per rank and sends each its start command. On
// an error the ranks started so far are killed. lock_fd is handed on, so that the attempt's lock is held while any of
// them lives.
absl::StatusOr<StartedRanks> StartRanks(const v1::Launch& launch, int lock_fd);

}  // namespace ddp

#endif  // DDP_RUNNER_WORKER_PROCESS_H_
