// The life of one rank.
#ifndef DDP_WORKER_TRAIN_WORKER_H_
#define DDP_WORKER_TRAIN_WORKER_H_

namespace ddp {

// Speaks to the runner on `fd` and trains. Returns the process's exit code (common/exit_codes.h); the process then ends
// by _exit, as main does.
int RunWorker(int fd);

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_WORKER_H_
