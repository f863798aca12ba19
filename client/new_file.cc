#include "client/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "client/exit_codes.h"

namespace ddp {

NewFile::NewFile(std::string path, bool replace)
    : path_(std::move(path)), temporary_(absl::StrCat(path_, ".tmp-", getpid())), replace_(replace) {
  if (!replace_ && Exists(path_)) throw ExitError(kUsage, path_ + " is there already; --force replaces it");
  fd_ = UniqueFd(open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd_.valid()) Fail(ErrnoStatus(errno, absl::StrCat("cannot make ", temporary_)));
}

NewFile::~NewFile() {
  if (fd_.valid()) unlink(temporary_.c_str());
}

void NewFile::Append(const std::string& bytes) {
  if (const absl::Status status = WriteAll(fd_.get(), bytes); !status.ok()) Fail(status);
  size_ += static_cast<int64_t>(bytes.size());
}

void NewFile::Commit() {
  if (fsync(fd_.get()) != 0) Fail(ErrnoStatus(errno, absl::StrCat("cannot sync ", temporary_)));
  // A name that has appeared meanwhile stays, too.
  const unsigned flags = replace_ ? 0 : RENAME_NOREPLACE;
  if (renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), flags) != 0) {
    Fail(ErrnoStatus(errno, absl::StrCat("cannot rename ", temporary_, " to ", path_)));
  }
  fd_ = UniqueFd();
}

void NewFile::Fail(const absl::Status& status) const {
  throw ExitError(kRefused, absl::StrCat(path_, ": ", std::string(status.message())));
}

}  // namespace ddp
