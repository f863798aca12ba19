#include "client/terminal.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/columns.h"
#include "common/text.h"

namespace ddp {

namespace {
constexpr absl::Duration kRedraw = absl::Milliseconds(100);
constexpr absl::Duration kPlain = absl::Seconds(2);
constexpr char kEraseLine[] = "\r\x1b[K";
constexpr char kUp[] = "\x1b[A";
constexpr char kEraseBelow[] = "\r\x1b[J";
}  // namespace

bool IsTerminal(int fd) {
  const char* term = std::getenv("TERM");
  return isatty(fd) == 1 && term != nullptr && std::strcmp(term, "dumb") != 0;
}

std::optional<int> TerminalColumns(int fd) {
  winsize size{};
  if (isatty(fd) != 1 || ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

Terminal::Terminal(int fd) : fd_(fd), is_terminal_(IsTerminal(fd)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (is_terminal_) resize_.emplace(wake_.get());
  thread_ = std::thread([this] { DrawWhenDue(); });
}

Terminal::~Terminal() {
  ClearLive();
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  Wake(wake_.get());
  thread_.join();
}

int Terminal::width() const {
  const std::optional<int> columns = TerminalColumns(fd_);
  if (!is_terminal_ || !columns) return 120;
  // The last column stays free: writing into it moves the cursor on some terminals.
  return std::max(1, *columns - 1);
}

void Terminal::Write(const std::string& text) const {
  // A closed standard error is no reason to stop watching.
  WriteAll(fd_, text).IgnoreError();
}

// A terminal that has become narrower has wrapped what was drawn into several rows, with the cursor in the last one.
std::string Terminal::Erase() const {
  const int columns = width() + 1;
  if (drawn_columns_ <= columns) return kEraseLine;
  std::string text;
  for (int row = 1; row < (drawn_columns_ + columns - 1) / columns; ++row) text += kUp;
  return text + kEraseBelow;
}

std::string Terminal::Render() {
  drawn_width_ = width();
  const std::string line = EscapeControls(live_(drawn_width_));
  drawn_columns_ = Columns(line);
  waits_ = false;
  return line;
}

void Terminal::Print(const std::string& line) {
  const std::string safe = EscapeForTerminal(line);
  std::lock_guard lock(mutex_);
  if (!is_terminal_ || drawn_columns_ == 0) {
    Write(safe + "\n");
    return;
  }
  const std::string erase = Erase();
  Write(absl::StrCat(erase, safe, "\n", Render()));
}

void Terminal::Live(LiveLine line) {
  {
    std::lock_guard lock(mutex_);
    live_ = std::move(line);
    waits_ = true;
    if (absl::Now() >= Due()) DrawLive();
  }
  Wake(wake_.get());
}

absl::Time Terminal::Due() const { return drawn_ + (is_terminal_ ? kRedraw : kPlain); }

void Terminal::DrawLive() {
  const std::string erase = is_terminal_ ? Erase() : "";
  Write(absl::StrCat(erase, Render(), is_terminal_ ? "" : "\n"));
  drawn_ = absl::Now();
}

void Terminal::ClearLive() {
  std::lock_guard lock(mutex_);
  if (is_terminal_ && drawn_columns_ > 0) Write(Erase());
  live_ = nullptr;
  drawn_columns_ = 0;
  waits_ = false;
}

void Terminal::DrawWhenDue() {
  pollfd wake{wake_.get(), POLLIN, 0};
  for (;;) {
    int timeout_ms = -1;
    {
      std::lock_guard lock(mutex_);
      if (closing_) return;
      if (is_terminal_ && drawn_columns_ > 0 && width() != drawn_width_) DrawLive();
      if (waits_) {
        const double left = absl::ToDoubleMilliseconds(Due() - absl::Now());
        if (left <= 0) {
          DrawLive();
        } else {
          timeout_ms = static_cast<int>(std::ceil(left));
        }
      }
    }
    poll(&wake, 1, timeout_ms);
    Drain(wake_.get());
  }
}

}  // namespace ddp
