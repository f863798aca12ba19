#include "server/supervisor/open_files.h"

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/status_macros.h"

namespace ddp {

absl::StatusOr<OpenFileLimit> RaiseOpenFileLimit() {
  OpenFileLimit result;
  if (getrlimit(RLIMIT_NOFILE, &result.before) != 0) {
    return ErrnoStatus(errno, "cannot read the limit of open files (RLIMIT_NOFILE)");
  }
  const rlimit raised{.rlim_cur = result.before.rlim_max, .rlim_max = result.before.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &raised) != 0) {
    return ErrnoStatus(errno, absl::StrCat("cannot raise the limit of open files (RLIMIT_NOFILE) from ",
                                           result.before.rlim_cur, " to ", raised.rlim_cur));
  }
  result.now = raised.rlim_cur;
  return result;
}

absl::Status SetOpenFileLimit(pid_t pid, const rlimit& limit) {
  if (prlimit(pid, RLIMIT_NOFILE, &limit, nullptr) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat("cannot set the limit of open files of process ", pid));
}

}  // namespace ddp
