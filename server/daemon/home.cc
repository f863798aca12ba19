#include "server/daemon/home.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "common/status_macros.h"

namespace ddp {

namespace {

constexpr char kLock[] = "/ddpd.lock";
constexpr char kToken[] = "/token";
constexpr char kAddress[] = "/address";
constexpr char kWebAddress[] = "/web-address";
constexpr size_t kTokenDigits = 64;

absl::Status CheckFolder(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("cannot look at ", path));
  if (!S_ISDIR(info.st_mode)) return absl::FailedPreconditionError(absl::StrCat(path, " is not a folder"));
  if (info.st_uid != geteuid()) {
    return absl::FailedPreconditionError(absl::StrCat(path, " belongs to another user; choose another --home"));
  }
  // Others must not read the token or the data, whoever made the folder.
  if ((info.st_mode & 0077) != 0 && chmod(path.c_str(), 0700) != 0) {
    return ErrnoStatus(errno, absl::StrCat("cannot set the mode of ", path, " to 0700"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadOrMakeToken(const std::string& path) {
  if (Exists(path)) {
    struct stat info {};
    if (stat(path.c_str(), &info) == 0 && (info.st_mode & 0077) != 0 && chmod(path.c_str(), 0600) != 0) {
      return ErrnoStatus(errno, absl::StrCat("cannot set the mode of ", path, " to 0600"));
    }
    DDP_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, 4096));
    std::string token(absl::StripAsciiWhitespace(text));
    if (token.size() < kTokenDigits / 2) {
      return absl::FailedPreconditionError(absl::StrCat(path, " holds no token; remove it and a new one is made"));
    }
    return token;
  }
  std::string token = MakeSecret();
  DDP_RETURN_IF_ERROR(WriteFileAtomic(path, token + "\n"));
  return token;
}

}  // namespace

absl::StatusOr<Home> Home::Open(const std::string& path) {
  Home home;
  home.path_ = path;
  DDP_RETURN_IF_ERROR(MakeFolders(path));
  DDP_RETURN_IF_ERROR(CheckFolder(path));
  DDP_ASSIGN_OR_RETURN(std::optional<UniqueFd> lock, TryLockFile(path + kLock));
  if (!lock) {
    const absl::StatusOr<std::string> pid = ReadFile(path + kLock, 64);
    return absl::FailedPreconditionError(absl::StrCat(
        "another ddpd",
        pid.ok() && !pid->empty() ? absl::StrCat(" (pid ", std::string(absl::StripAsciiWhitespace(*pid)), ")")
                                  : std::string(),
        " uses ", path, "; stop it with `ddpctl daemon stop`, or choose another --home"));
  }
  home.lock_ = *std::move(lock);
  const std::string pid = absl::StrCat(getpid(), "\n");
  if (ftruncate(home.lock_.get(), 0) != 0) return ErrnoStatus(errno, absl::StrCat("cannot write ", path, kLock));
  DDP_RETURN_IF_ERROR(WriteAll(home.lock_.get(), pid));
  home.RemoveAddress();  // a killed daemon's
  DDP_ASSIGN_OR_RETURN(home.token_, ReadOrMakeToken(path + kToken));
  return home;
}

absl::Status Home::PublishAddress(const std::string& address, const std::string& web_address) const {
  if (!web_address.empty()) DDP_RETURN_IF_ERROR(WriteFileAtomic(path_ + kWebAddress, web_address + "\n"));
  return WriteFileAtomic(path_ + kAddress, address + "\n");
}

void Home::RemoveAddress() const {
  unlink((path_ + kAddress).c_str());
  unlink((path_ + kWebAddress).c_str());
}

}  // namespace ddp
