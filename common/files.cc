#include "common/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ddp {
namespace {

std::string ParentOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string HomeFromPasswordFile() {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> buffer{};
  getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr && found->pw_dir != nullptr ? found->pw_dir : "/";
}

absl::Status WriteAndSync(const std::string& path, std::string_view content, int mode) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("cannot make ", path));
  DDP_RETURN_IF_ERROR(WriteAll(fd.get(), content));
  if (fsync(fd.get()) != 0) return ErrnoStatus(errno, absl::StrCat("cannot sync ", path));
  return absl::OkStatus();
}

}  // namespace

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    fd_ = other.release();
  }
  return *this;
}

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) close(fd_);
}

int UniqueFd::release() {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

absl::Status ErrnoStatus(int error, std::string_view what) {
  const std::string text = absl::StrCat(std::string(what), ": ", std::generic_category().message(error));
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(text);
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(text);
    case EEXIST:
      return absl::AlreadyExistsError(text);
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(text);
    default:
      return absl::InternalError(text);
  }
}

absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  // O_NONBLOCK: opening a named pipe must not hang.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("cannot open ", path));
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("cannot look at ", path));
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file"));
  std::string content;
  if (info.st_size > 0) content.reserve(std::min(static_cast<size_t>(info.st_size), max_bytes));
  std::array<char, 65536> chunk{};
  while (true) {
    const ssize_t n = read(fd.get(), chunk.data(), chunk.size());
    if (n == 0) return content;
    if (n < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, absl::StrCat("cannot read ", path));
    }
    if (content.size() + static_cast<size_t>(n) > max_bytes) {
      return absl::OutOfRangeError(absl::StrCat(path, " is larger than ", max_bytes, " bytes"));
    }
    content.append(chunk.data(), static_cast<size_t>(n));
  }
}

absl::Status WriteFileAtomic(const std::string& path, std::string_view content, int mode) {
  static std::atomic<uint64_t> counter{0};
  const std::string temporary = absl::StrCat(path, ".tmp-", getpid(), "-", counter++);
  unlink(temporary.c_str());  // left by a crash of an earlier process with our id
  absl::Status status = WriteAndSync(temporary, content, mode);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus(errno, absl::StrCat("cannot rename ", temporary, " to ", path));
  }
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  return FsyncFolder(ParentOf(path));
}

absl::Status MakeFolders(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0) return absl::OkStatus();
  if (errno == ENOENT && ParentOf(path) != path) {
    DDP_RETURN_IF_ERROR(MakeFolders(ParentOf(path)));
    if (mkdir(path.c_str(), 0700) == 0) return absl::OkStatus();
  }
  const int error = errno;
  struct stat info {};
  if (error == EEXIST && stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return absl::OkStatus();
  return ErrnoStatus(error, absl::StrCat("cannot make folder ", path));
}

absl::Status FsyncFolder(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("cannot open folder ", path));
  if (fsync(fd.get()) != 0) return ErrnoStatus(errno, absl::StrCat("cannot sync folder ", path));
  return absl::OkStatus();
}

absl::Status RemoveTree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return ErrnoStatus(error.value(), absl::StrCat("cannot remove ", path));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ListFolder(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
  if (!folder) return ErrnoStatus(errno, absl::StrCat("cannot open folder ", path));
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = readdir(folder.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
    errno = 0;
  }
  if (errno != 0) return ErrnoStatus(errno, absl::StrCat("cannot read folder ", path));
  std::sort(names.begin(), names.end());
  return names;
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

absl::StatusOr<std::optional<UniqueFd>> TryLockFile(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("cannot open lock ", path));
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::optional<UniqueFd>();
    if (errno != EINTR) return ErrnoStatus(errno, absl::StrCat("cannot lock ", path));
  }
  return std::optional<UniqueFd>(std::move(fd));
}

absl::Status WriteAll(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t n = write(fd, data.data(), data.size());
    if (n >= 0) {
      data.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd wait{fd, POLLOUT, 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return ErrnoStatus(errno, absl::StrCat("cannot write to descriptor ", fd));
    }
  }
  return absl::OkStatus();
}

std::string DefaultHome() {
  if (const char* home = std::getenv("DDPD_HOME"); home != nullptr && *home != '\0') return home;
  const char* user_home = std::getenv("HOME");
  return absl::StrCat(user_home != nullptr && *user_home != '\0' ? user_home : HomeFromPasswordFile(),
                      "/.local/state/ddpd");
}

std::string ExecutableFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

}  // namespace ddp
