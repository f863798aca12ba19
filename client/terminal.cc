#include "client/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/files.h"

namespace ddp {

namespace {
constexpr absl::Duration kRedraw = absl::Milliseconds(100);
constexpr absl::Duration kPlain = absl::Seconds(2);
constexpr char kEraseLine[] = "\r\x1b[K";

bool IsTerminal(int fd) {
  const char* term = std::getenv("TERM");
  return isatty(fd) == 1 && term != nullptr && std::strcmp(term, "dumb") != 0;
}
}  // namespace

Terminal::Terminal(int fd) : fd_(fd), is_terminal_(IsTerminal(fd)) {}

int Terminal::width() const {
  winsize size{};
  if (!is_terminal_ || ioctl(fd_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 120;
  // The last column stays free: writing into it moves the cursor on some terminals.
  return std::max(20, size.ws_col - 1);
}

void Terminal::Write(const std::string& text) const {
  // A closed standard error is no reason to stop watching.
  WriteAll(fd_, text).IgnoreError();
}

void Terminal::Print(const std::string& line) {
  std::lock_guard lock(mutex_);
  Write(live_.empty() ? line + "\n" : absl::StrCat(kEraseLine, line, "\n", live_));
}

void Terminal::Live(const std::string& line) {
  std::lock_guard lock(mutex_);
  const absl::Time now = absl::Now();
  if (now - drawn_ < (is_terminal_ ? kRedraw : kPlain)) return;
  drawn_ = now;
  if (!is_terminal_) {
    Write(line + "\n");
    return;
  }
  live_ = line;
  Write(kEraseLine + line);
}

void Terminal::ClearLive() {
  std::lock_guard lock(mutex_);
  if (live_.empty()) return;
  Write(kEraseLine);
  live_.clear();
}

}  // namespace ddp
