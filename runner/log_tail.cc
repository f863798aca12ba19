#include "runner/log_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "common/files.h"
#include "common/text.h"

namespace ddp {

namespace {

constexpr off_t kBytes = 4096;
constexpr int kLines = 20;

bool ContinuesCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::string LogTail(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) return "";
  const off_t from = std::max<off_t>(0, info.st_size - kBytes);
  std::string tail(static_cast<size_t>(info.st_size - from), '\0');
  const ssize_t n = pread(fd.get(), tail.data(), tail.size(), from);
  tail.resize(static_cast<size_t>(std::max<ssize_t>(0, n)));
  // The cut may have gone through a character, of which up to three bytes are left over.
  size_t begin = 0;
  while (from > 0 && begin < std::min<size_t>(3, tail.size()) && ContinuesCharacter(tail[begin])) ++begin;
  // The newline that ends the last line separates nothing.
  size_t at = tail.size();
  for (int lines = 0; at > begin; --at) {
    if (tail[at - 1] == '\n' && at != tail.size() && ++lines == kLines) break;
  }
  tail.erase(0, std::max(begin, at));
  // Protobuf strings are UTF-8; a log may hold anything.
  for (size_t good = 0;;) {
    const size_t bad = FindInvalidUtf8(std::string_view(tail).substr(good));
    if (bad == std::string::npos) return tail;
    tail[good + bad] = '?';
    good += bad;
  }
}

}  // namespace ddp
