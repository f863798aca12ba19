#include "client/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/files.h"

namespace ddp {
namespace {

// A real pseudo-terminal, 80 columns wide.
class TerminalTest : public ::testing::Test {
 protected:
  TerminalTest() : master_(posix_openpt(O_RDWR | O_NOCTTY)) {
    setenv("TERM", "xterm", 1);
    EXPECT_EQ(grantpt(master_.get()), 0);
    EXPECT_EQ(unlockpt(master_.get()), 0);
    slave_ = UniqueFd(open(ptsname(master_.get()), O_RDWR | O_NOCTTY));
    const winsize size{.ws_row = 24, .ws_col = 80};
    ioctl(slave_.get(), TIOCSWINSZ, &size);
    fcntl(master_.get(), F_SETFL, O_NONBLOCK);
  }
  std::string Output() {
    char buffer[4096];
    const ssize_t n = read(master_.get(), buffer, sizeof(buffer));
    return n > 0 ? std::string(buffer, static_cast<size_t>(n)) : "";
  }
  UniqueFd master_;
  UniqueFd slave_;
};

TEST_F(TerminalTest, LinesGoAboveTheLiveLineInOneWrite) {
  Terminal terminal(slave_.get());
  EXPECT_EQ(terminal.width(), 79);
  terminal.Print("before");
  EXPECT_EQ(Output(), "before\r\n");
  terminal.Live("bar 1");
  EXPECT_EQ(Output(), "\r\x1b[Kbar 1");
  terminal.Live("bar 2");  // too soon to draw again
  EXPECT_EQ(Output(), "");
  terminal.Print("event");
  EXPECT_EQ(Output(), "\r\x1b[Kevent\r\nbar 1");
  terminal.ClearLive();
  EXPECT_EQ(Output(), "\r\x1b[K");
  terminal.Print("after");
  EXPECT_EQ(Output(), "after\r\n");
}

TEST(PlainTerminalTest, NoEscapeCodesWithoutATerminal) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  const UniqueFd out(fds[0]);
  const UniqueFd in(fds[1]);
  Terminal terminal(in.get());
  EXPECT_EQ(terminal.width(), 120);
  terminal.Live("bar 1");
  terminal.Live("bar 2");
  terminal.Print("event");
  terminal.ClearLive();
  char buffer[100];
  const ssize_t n = read(out.get(), buffer, sizeof(buffer));
  EXPECT_EQ(std::string(buffer, static_cast<size_t>(n)), "bar 1\nevent\n");
}

}  // namespace
}  // namespace ddp
