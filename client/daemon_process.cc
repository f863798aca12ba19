#include "client/daemon_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/exit_codes.h"
#include "common/files.h"
#include "common/process.h"

namespace ddp {

namespace {

constexpr absl::Duration kStartTimeout = absl::Seconds(15);
constexpr size_t kTailBytes = 2000;

std::string Tail(const std::string& path) {
  const absl::StatusOr<std::string> log = ReadFile(path);
  if (!log.ok()) return "";
  return log->substr(log->size() > kTailBytes ? log->size() - kTailBytes : 0);
}

}  // namespace

void StartDaemon(const std::string& home) {
  const std::string log_path = home + "/ddpd.log";
  if (absl::Status status = MakeFolders(home); !status.ok()) throw ExitError(kNoDaemon, std::string(status.message()));
  const UniqueFd log(open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.valid()) throw ExitError(kNoDaemon, std::string(ErrnoStatus(errno, "cannot write " + log_path).message()));
  SpawnOptions options;
  options.argv = {ExecutableFolder() + "/ddpd", "--home", home};
  options.environment = AllowedEnvironment();
  options.fds = {{log.get(), 1}, {log.get(), 2}};
  options.new_session = true;
  options.working_directory = "/";
  const absl::StatusOr<Child> child = Spawn(options);
  if (!child.ok())
    throw ExitError(kNoDaemon, absl::StrCat("cannot start ddpd: ", std::string(child.status().message())));
  const absl::Time end = absl::Now() + kStartTimeout;
  while (absl::Now() < end) {
    if (Exists(home + "/address")) return;
    if (Reap(child->pid, /*wait=*/false)) {
      // The lock's owner is another daemon that was started a moment ago: its address comes soon.
      const absl::Time other = absl::Now() + absl::Seconds(2);
      while (absl::Now() < other) {
        if (Exists(home + "/address")) return;
        absl::SleepFor(absl::Milliseconds(10));
      }
      break;
    }
    absl::SleepFor(absl::Milliseconds(10));
  }
  throw ExitError(kNoDaemon, absl::StrCat("ddpd did not start; the end of ", log_path, ":\n", Tail(log_path)));
}

void StopDaemon(int64_t pid, absl::Duration timeout) {
  if (kill(static_cast<pid_t>(pid), SIGTERM) != 0) {
    throw ExitError(kRefused,
                    std::string(ErrnoStatus(errno, absl::StrCat("cannot signal ddpd (pid ", pid, ")")).message()));
  }
  for (const absl::Time end = absl::Now() + timeout; absl::Now() < end;) {
    if (kill(static_cast<pid_t>(pid), 0) != 0) return;
    // A zombie whose parent does not care has ended, too.
    const absl::StatusOr<std::string> stat = ReadFile(absl::StrCat("/proc/", pid, "/stat"));
    if (stat.ok() && stat->find(") Z ") != std::string::npos) return;
    absl::SleepFor(absl::Milliseconds(10));
  }
  throw ExitError(kRefused, absl::StrCat("ddpd (pid ", pid, ") has not ended within ", absl::FormatDuration(timeout)));
}

}  // namespace ddp
