#include "worker/data/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/files.h"

namespace ddp {

absl::StatusOr<InputFile> ReadInput(const std::string& path, size_t max_bytes) {
  if (path.find('\0') != std::string::npos) return absl::InvalidArgumentError("the path contains a NUL byte");
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("cannot open ", path));
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("cannot look at ", path));
  if (S_ISDIR(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, " is a folder, a file is needed"));
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file"));

  InputFile file;
  const auto size = static_cast<size_t>(info.st_size);
  file.whole = size <= max_bytes;
  file.content.resize(std::min(size, max_bytes));
  size_t have = 0;
  while (have < file.content.size()) {
    const ssize_t n = read(fd.get(), file.content.data() + have, file.content.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("cannot read ", path));
    if (n == 0) return absl::DataLossError(absl::StrCat(path, " became shorter while it was read"));
    have += static_cast<size_t>(n);
  }
  return file;
}

}  // namespace ddp
