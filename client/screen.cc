#include "client/screen.h"

#include <sys/ioctl.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/files.h"

namespace ddp {

namespace {
// The alternate screen, without a cursor; and back.
constexpr char kOpen[] = "\x1b[?1049h\x1b[?25l";
constexpr char kClose[] = "\x1b[?25h\x1b[?1049l";
// Terminals that know them show all in between at once; others ignore them.
constexpr char kTogether[] = "\x1b[?2026h";
constexpr char kTogetherEnd[] = "\x1b[?2026l";
}  // namespace

void Screen::Enter() {
  if (entered_) return;
  entered_ = true;
  tcgetattr(in_, &before_);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  tcsetattr(in_, TCSAFLUSH, &raw);
  shown_.clear();
  // A terminal that has gone is noticed when it is read.
  WriteAll(out_, kOpen).IgnoreError();
  Measure();
}

void Screen::Leave() {
  if (!entered_) return;
  entered_ = false;
  WriteAll(out_, kClose).IgnoreError();
  tcsetattr(in_, TCSAFLUSH, &before_);
}

void Screen::Measure() {
  winsize size{};
  if (ioctl(out_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return;
  // The last column stays free: erasing after a character in it erases that character on some terminals.
  width_ = std::max(1, size.ws_col - 1);
  height_ = size.ws_row;
  shown_.clear();
}

void Screen::Draw(const std::vector<std::string>& lines) {
  std::string text = "\x1b[H";
  for (size_t i = 0; i < lines.size(); ++i) absl::StrAppend(&text, i == 0 ? "" : "\r\n", lines[i], "\x1b[K");
  text += "\x1b[J";
  if (text == shown_) return;
  WriteAll(out_, absl::StrCat(kTogether, text, kTogetherEnd)).IgnoreError();
  shown_ = text;
}

}  // namespace ddp
