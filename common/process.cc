#include "common/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

extern char** environ;

namespace ddp {
namespace {

// posix_spawn_file_actions_t with a destructor.
class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

class SpawnAttributes {
 public:
  explicit SpawnAttributes(const SpawnOptions& options) {
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    // The child starts with no signal blocked or ignored, whatever this process does with them.
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (options.new_session) flags |= POSIX_SPAWN_SETSID;
    if (options.new_process_group) flags |= POSIX_SPAWN_SETPGROUP;
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, flags);
  }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

std::vector<char*> PointersTo(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

bool IsTarget(const SpawnOptions& options, int fd) {
  return std::any_of(options.fds.begin(), options.fds.end(), [fd](const auto& pair) { return pair.second == fd; });
}

// Plans the child's descriptors. `copies` own duplicates of the sources above every target number: so no dup2
// overwrites a source that is still needed, and none has equal ends (which would leave close-on-exec set).
absl::Status PlanDescriptors(const SpawnOptions& options, FileActions& actions, std::vector<UniqueFd>& copies) {
  int highest = STDERR_FILENO;
  for (const auto& [source, target] : options.fds) highest = std::max(highest, target);
  for (const auto& [source, target] : options.fds) {
    UniqueFd copy(fcntl(source, F_DUPFD_CLOEXEC, highest + 1));
    if (!copy.valid()) return ErrnoStatus(errno, absl::StrCat("cannot duplicate descriptor ", source));
    posix_spawn_file_actions_adddup2(actions.get(), copy.get(), target);
    copies.push_back(std::move(copy));
  }
  for (int fd = 0; fd <= highest; ++fd) {
    if (IsTarget(options, fd)) continue;
    if (fd <= STDERR_FILENO) {
      posix_spawn_file_actions_addopen(actions.get(), fd, "/dev/null", O_RDWR, 0);
    } else {
      posix_spawn_file_actions_addclose(actions.get(), fd);
    }
  }
  posix_spawn_file_actions_addclosefrom_np(actions.get(), highest + 1);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Child> Spawn(const SpawnOptions& options) {
  if (options.argv.empty()) return absl::InvalidArgumentError("cannot start a process without a program");
  FileActions actions;
  std::vector<UniqueFd> copies;
  if (absl::Status status = PlanDescriptors(options, actions, copies); !status.ok()) return status;
  if (!options.working_directory.empty()) {
    posix_spawn_file_actions_addchdir_np(actions.get(), options.working_directory.c_str());
  }
  const SpawnAttributes attributes(options);
  const std::vector<char*> argv = PointersTo(options.argv);
  const std::vector<char*> environment = PointersTo(options.environment);
  Child child;
  const int error = posix_spawn(&child.pid, argv[0], actions.get(), attributes.get(), argv.data(), environment.data());
  if (error != 0) {
    std::string what = absl::StrCat("cannot start ", options.argv[0]);
    if (!options.working_directory.empty()) absl::StrAppend(&what, " in folder ", options.working_directory);
    return ErrnoStatus(error, what);
  }
  child.pidfd = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, child.pid, 0)));
  if (!child.pidfd.valid()) {
    const int pidfd_error = errno;
    kill(child.pid, SIGKILL);
    Reap(child.pid, /*wait=*/true);
    return ErrnoStatus(pidfd_error, absl::StrCat("cannot watch ", options.argv[0]));
  }
  return child;
}

std::string ExitStatus::ToString() const {
  if (signal == 0) return exit_code < 0 ? "unknown" : absl::StrCat("exit code ", exit_code);
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? absl::StrCat("signal ", signal) : absl::StrCat("signal ", signal, " (SIG", name, ")");
}

std::optional<ExitStatus> Reap(pid_t pid, bool wait) {
  int status = 0;
  pid_t reaped = -1;
  do {
    reaped = waitpid(pid, &status, wait ? 0 : WNOHANG);
  } while (reaped < 0 && errno == EINTR);
  if (reaped == 0) return std::nullopt;
  ExitStatus result;
  if (reaped < 0) return result;
  if (WIFSIGNALED(status)) {
    result.signal = WTERMSIG(status);
  } else {
    result.exit_code = WEXITSTATUS(status);
  }
  return result;
}

std::vector<std::string> AllowedEnvironment() {
  static constexpr std::string_view kNames[] = {
      "PATH",         "HOME",          "LANG",         "TZ",           "TMPDIR",
      "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "CUDA_VISIBLE_DEVICES"};
  static constexpr std::string_view kPrefixes[] = {"LC_", "NCCL_"};
  std::vector<std::string> allowed;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const bool by_name = std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
    const bool by_prefix = std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                                       [name](std::string_view prefix) { return name.starts_with(prefix); });
    if (by_name || by_prefix) allowed.emplace_back(text);
  }
  return allowed;
}

}  // namespace ddp
