#include "worker/formats/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ddp {

absl::StatusOr<OpenFile> OpenInput(const std::string& path) {
  if (path.find('\0') != std::string::npos) return absl::InvalidArgumentError("the path contains a NUL byte");
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  OpenFile file{UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK))};
  if (!file.fd.valid()) return ErrnoStatus(errno, absl::StrCat("cannot open ", path));
  struct stat info {};
  if (fstat(file.fd.get(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("cannot look at ", path));
  if (S_ISDIR(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, " is a folder, a file is needed"));
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file"));
  file.size = static_cast<uint64_t>(info.st_size);
  return file;
}

absl::Status ReadAt(int fd, const std::string& path, uint64_t offset, void* into, size_t bytes) {
  auto* at = static_cast<char*>(into);
  while (bytes > 0) {
    const ssize_t n = pread(fd, at, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("cannot read ", path));
    if (n == 0) return absl::DataLossError(absl::StrCat(path, " became shorter while it was read"));
    at += n;
    bytes -= static_cast<size_t>(n);
    offset += static_cast<uint64_t>(n);
  }
  return absl::OkStatus();
}

absl::StatusOr<InputFile> ReadInput(const std::string& path, size_t max_bytes) {
  DDP_ASSIGN_OR_RETURN(const OpenFile open, OpenInput(path));
  InputFile file;
  file.whole = open.size <= max_bytes;
  file.content.resize(std::min<size_t>(open.size, max_bytes));
  DDP_RETURN_IF_ERROR(ReadAt(open.fd.get(), path, 0, file.content.data(), file.content.size()));
  return file;
}

}  // namespace ddp
