// How many files the daemon may have open. Each connection is one, so it takes all that it is allowed to; what it
// starts gets back what the daemon was started with, since a larger limit breaks programs that use select().
#ifndef DDP_SERVER_SUPERVISOR_OPEN_FILES_H_
#define DDP_SERVER_SUPERVISOR_OPEN_FILES_H_

#include <sys/resource.h>
#include <sys/types.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ddp {

struct OpenFileLimit {
  rlimit before{};
  rlim_t now = 0;
};

// Raises this process's soft limit to its hard one.
absl::StatusOr<OpenFileLimit> RaiseOpenFileLimit();

// Of a process that has just been started.
absl::Status SetOpenFileLimit(pid_t pid, const rlimit& limit);

}  // namespace ddp

#endif  // DDP_SERVER_SUPERVISOR_OPEN_FILES_H_
