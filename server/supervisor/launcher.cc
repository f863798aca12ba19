#include "server/supervisor/launcher.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attempt/event_log.h"
#include "common/files.h"
#include "common/logging.h"
#include "common/process.h"
#include "common/status_macros.h"
#include "server/supervisor/open_files.h"

namespace ddp {

namespace {
constexpr int kLockFdInRunner = 3;
}

absl::StatusOr<int64_t> ProcessLauncher::Launch(const v1::Launch& launch) {
  const std::string& dir = launch.attempt_dir();
  DDP_RETURN_IF_ERROR(MakeFolders(dir));
  DDP_RETURN_IF_ERROR(WriteFileAtomic(absl::StrCat(dir, "/", kLaunchName), launch.SerializeAsString()));
  // Locked here and handed over locked: there is no moment at which a living runner does not hold it.
  DDP_ASSIGN_OR_RETURN(const std::optional<UniqueFd> lock, TryLockFile(absl::StrCat(dir, "/", kLockName)));
  if (!lock) return absl::FailedPreconditionError(absl::StrCat(dir, " is locked: a runner of it lives already"));
  const std::string log_path = absl::StrCat(dir, "/runner.log");
  const UniqueFd log(open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.valid()) return ErrnoStatus(errno, absl::StrCat("cannot make ", log_path));
  SpawnOptions options;
  options.argv = {runner_binary_, "--attempt-dir", dir, "--lock-fd", absl::StrCat(kLockFdInRunner)};
  options.environment = AllowedEnvironment();
  options.fds = {{log.get(), 1}, {log.get(), 2}, {lock->get(), kLockFdInRunner}};
  options.new_session = true;  // it outlives us
  DDP_ASSIGN_OR_RETURN(const Child child, Spawn(options));
  // The runner reads launch.pb and dials before it starts anything, so its ranks inherit this. That it could not be set
  // is no reason to lose an attempt.
  if (open_files_) {
    if (const absl::Status set = SetOpenFileLimit(child.pid, *open_files_); !set.ok()) {
      LogWarning(std::string(set.message()));
    }
  }
  std::lock_guard guard(mutex_);
  runners_.insert(child.pid);
  return child.pid;
}

bool ProcessLauncher::Alive(const std::string& attempt_dir) {
  ReapRunners();
  if (!Exists(attempt_dir)) return false;
  const absl::StatusOr<std::optional<UniqueFd>> lock = TryLockFile(absl::StrCat(attempt_dir, "/", kLockName));
  return !lock.ok() || !*lock;
}

void ProcessLauncher::ReapRunners() {
  std::lock_guard guard(mutex_);
  std::erase_if(runners_, [](int64_t pid) { return Reap(static_cast<pid_t>(pid), /*wait=*/false).has_value(); });
}

}  // namespace ddp
