// Files and folders. Every error names the path and the reason ("cannot open /x/y: No such file or directory").
// Functions are thread-safe as far as the kernel is.
#ifndef DDP_COMMON_FILES_H_
#define DDP_COMMON_FILES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ddp {

// Owns a file descriptor. Move-only.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd();
  int get() const { return fd_; }
  int release();
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Kind of error from errno: ENOENT -> NotFound, EACCES/EPERM -> PermissionDenied, EEXIST -> AlreadyExists,
// ENOSPC/EDQUOT -> ResourceExhausted, anything else -> Internal.
absl::Status ErrnoStatus(int error, std::string_view what);

// Regular files only (InvalidArgument for a pipe or device, which could block); OutOfRange above max_bytes.
absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes = size_t{1} << 30);
// Write to PATH.tmp-PID-N, fsync, rename over PATH, fsync the folder: after a crash PATH holds the old content or the
// new.
absl::Status WriteFileAtomic(const std::string& path, std::string_view content, int mode = 0600);
// Makes the folder and its parents (mode 0700 for each made).
absl::Status MakeFolders(const std::string& path);
absl::Status FsyncFolder(const std::string& path);
// Removes a folder and what is in it; does not follow links. OK when it does not exist.
absl::Status RemoveTree(const std::string& path);
// Names in a folder, sorted, without "." and "..".
absl::StatusOr<std::vector<std::string>> ListFolder(const std::string& path);
bool Exists(const std::string& path);

// Opens (makes, mode 0600) PATH and takes an exclusive flock without waiting. Unset: another open file holds it. The
// lock is held until every descriptor that came from this open (by dup, fork or spawn) is closed.
absl::StatusOr<std::optional<UniqueFd>> TryLockFile(const std::string& path);

// Writes all of it, retrying short writes and EINTR, waiting when the descriptor is non-blocking and full. Programs
// ignore SIGPIPE (InitLogging does that).
absl::Status WriteAll(int fd, std::string_view data);

// $DDPD_HOME, or ~/.local/state/ddpd.
std::string DefaultHome();
// The folder of the running executable, where its siblings (ddpd, ddp-runner, ddp-worker) are.
std::string ExecutableFolder();

}  // namespace ddp

#endif  // DDP_COMMON_FILES_H_
