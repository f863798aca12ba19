#include "client/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/files.h"
#include "common/text.h"

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

std::optional<int> TerminalColumns(int fd) {
  winsize size{};
  if (isatty(fd) != 1 || ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

Terminal::Terminal(int fd) : fd_(fd), is_terminal_(IsTerminal(fd)), thread_([this] { DrawWhenDue(); }) {}

Terminal::~Terminal() {
  ClearLive();
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

int Terminal::width() const {
  const std::optional<int> columns = TerminalColumns(fd_);
  if (!is_terminal_ || !columns) return 120;
  // The last column stays free: writing into it moves the cursor on some terminals.
  return std::max(20, *columns - 1);
}

void Terminal::Write(const std::string& text) const {
  // A closed standard error is no reason to stop watching.
  WriteAll(fd_, text).IgnoreError();
}

void Terminal::Print(const std::string& line) {
  const std::string safe = EscapeForTerminal(line);
  std::lock_guard lock(mutex_);
  if (!is_terminal_ || live_.empty()) {
    Write(safe + "\n");
    return;
  }
  Write(absl::StrCat(kEraseLine, safe, "\n", live_));
  waits_ = false;
}

void Terminal::Live(const std::string& line) {
  {
    std::lock_guard lock(mutex_);
    live_ = EscapeControls(line);
    waits_ = true;
    if (absl::Now() >= Due()) DrawLive();
  }
  changed_.notify_one();
}

absl::Time Terminal::Due() const { return drawn_ + (is_terminal_ ? kRedraw : kPlain); }

void Terminal::DrawLive() {
  Write(is_terminal_ ? kEraseLine + live_ : live_ + "\n");
  drawn_ = absl::Now();
  waits_ = false;
}

void Terminal::ClearLive() {
  std::lock_guard lock(mutex_);
  if (is_terminal_ && !live_.empty()) Write(kEraseLine);
  live_.clear();
  waits_ = false;
}

void Terminal::DrawWhenDue() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    if (!waits_) {
      changed_.wait(lock);
    } else if (const absl::Duration left = Due() - absl::Now(); left > absl::ZeroDuration()) {
      changed_.wait_for(lock, absl::ToChronoNanoseconds(left));
    } else {
      DrawLive();
    }
  }
}

}  // namespace ddp
