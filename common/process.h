// Starting and watching child processes. Never forks without exec (gRPC and SQLite forbid it); no shell.
#ifndef DDP_COMMON_PROCESS_H_
#define DDP_COMMON_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/files.h"

namespace ddp {

struct SpawnOptions {
  std::vector<std::string> argv;         // argv[0] is the path of the executable
  std::vector<std::string> environment;  // "NAME=value", complete: nothing is inherited
  // (descriptor here, number there). Every other descriptor is closed in the child. 0, 1 and 2 that are not named
  // become /dev/null.
  std::vector<std::pair<int, int>> fds;
  bool new_session = false;        // setsid: survives the terminal and signals to our group
  bool new_process_group = false;  // leader of its own group
  std::string working_directory;   // empty: ours
};

// A started child. pidfd becomes readable when it ends.
struct Child {
  pid_t pid = -1;
  UniqueFd pidfd;
};

absl::StatusOr<Child> Spawn(const SpawnOptions& options);

// How a process ended.
struct ExitStatus {
  int exit_code = -1;  // -1 when ended by a signal
  int signal = 0;      // 0 when it exited
  bool ok() const { return exit_code == 0; }
  // "exit code 3", "signal 9 (SIGKILL)"
  std::string ToString() const;
};

// Reaps the child. Blocks until it ends when `wait`; otherwise unset while it lives.
std::optional<ExitStatus> Reap(pid_t pid, bool wait);

// Runs to the end: writes `input` to its standard input, collects at most max_output bytes of its standard output (more
// is an error), leaves its standard error to `stderr_text` (at most 64 KiB kept). Kills it at the deadline:
// DeadlineExceeded.
struct RunResult {
  ExitStatus status;
  std::string stdout_text;
  std::string stderr_text;
};
absl::StatusOr<RunResult> Run(SpawnOptions options, const std::string& input, absl::Duration timeout,
                              size_t max_output = size_t{16} << 20);

// The variables of our own environment that a job's processes may see: PATH, HOME, LANG, LC_*, TZ, TMPDIR, and on GPUs
// CUDA_VISIBLE_DEVICES, NCCL_*. Sanitizer options (ASAN_OPTIONS, ...) too. Never tokens, never LD_PRELOAD.
std::vector<std::string> AllowedEnvironment();

}  // namespace ddp

#endif  // DDP_COMMON_PROCESS_H_
