#include "runner/descendants.h"

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/files.h"

namespace ddp {

namespace {

// Children started by any of our threads.
std::vector<pid_t> Children() {
  std::vector<pid_t> children;
  const absl::StatusOr<std::vector<std::string>> threads = ListFolder("/proc/self/task");
  if (!threads.ok()) return children;
  for (const std::string& thread : *threads) {
    std::ifstream file(absl::StrCat("/proc/self/task/", thread, "/children"));
    pid_t pid = 0;
    while (file >> pid) children.push_back(pid);
  }
  return children;
}

}  // namespace

void AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

bool KillDescendants(absl::Duration deadline) {
  // Killing our children makes their children ours, so the generations come up one after the other.
  const absl::Time end = absl::Now() + deadline;
  for (;;) {
    for (const pid_t pid : Children()) kill(pid, SIGKILL);
    pid_t reaped = 0;
    while ((reaped = waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    // Not the list in /proc, which may skip one while others end.
    if (reaped < 0 && errno == ECHILD) return true;
    if (absl::Now() > end) return false;
    absl::SleepFor(absl::Milliseconds(5));
  }
}

}  // namespace ddp
