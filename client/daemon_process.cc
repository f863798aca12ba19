#include "client/daemon_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/exit_codes.h"
#include "common/files.h"
#include "common/process.h"

namespace ddp {

namespace {

constexpr absl::Duration kStartTimeout = absl::Seconds(15);
constexpr absl::Duration kOtherTimeout = absl::Seconds(2);
constexpr absl::Duration kPoll = absl::Milliseconds(10);
constexpr size_t kTailBytes = 2000;

// What was written after the first `start` bytes, at most the last kTailBytes of it.
std::string Tail(const std::string& path, size_t start) {
  const absl::StatusOr<std::string> log = ReadFile(path);
  if (!log.ok() || log->size() <= start) return "";
  const size_t begin = std::max(start, log->size() - std::min(log->size(), kTailBytes));
  return std::string(absl::StripAsciiWhitespace(log->substr(begin)));
}

}  // namespace

void StartDaemon(const std::string& home, const std::function<bool()>& answers) {
  const std::string log_path = home + "/ddpd.log";
  if (absl::Status status = MakeFolders(home); !status.ok()) throw ExitError(kNoDaemon, std::string(status.message()));
  const UniqueFd log(open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.valid()) throw ExitError(kNoDaemon, std::string(ErrnoStatus(errno, "cannot write " + log_path).message()));
  const auto log_start = static_cast<size_t>(std::max<off_t>(0, lseek(log.get(), 0, SEEK_END)));
  SpawnOptions options;
  options.argv = {ExecutableFolder() + "/ddpd", "--home", home};
  options.environment = AllowedEnvironment();
  options.fds = {{log.get(), 1}, {log.get(), 2}};
  options.new_session = true;
  options.working_directory = "/";
  const absl::StatusOr<Child> child = Spawn(options);
  if (!child.ok())
    throw ExitError(kNoDaemon, absl::StrCat("cannot start ddpd: ", std::string(child.status().message())));
  bool ended = false;
  for (absl::Time end = absl::Now() + kStartTimeout; absl::Now() < end; absl::SleepFor(kPoll)) {
    if (answers()) return;
    if (!ended && Reap(child->pid, /*wait=*/false)) {
      ended = true;
      // The lock's owner may be another daemon that was started a moment ago: it answers soon.
      end = std::min(end, absl::Now() + kOtherTimeout);
    }
  }
  throw ExitError(kNoDaemon, absl::StrCat(ended ? "ddpd did not start" : "ddpd was started, but does not answer",
                                          "; the end of ", log_path, ":\n", Tail(log_path, log_start)));
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
