// A real pseudo-terminal, 80 columns wide, for tests.
#ifndef DDP_CLIENT_TESTING_PTY_H_
#define DDP_CLIENT_TESTING_PTY_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>

#include "common/files.h"

namespace ddp {

class Pty {
 public:
  Pty() : master_(posix_openpt(O_RDWR | O_NOCTTY)) {
    setenv("TERM", "xterm", 1);
    EXPECT_EQ(grantpt(master_.get()), 0);
    EXPECT_EQ(unlockpt(master_.get()), 0);
    slave_ = UniqueFd(open(ptsname(master_.get()), O_RDWR | O_NOCTTY));
    const winsize size{.ws_row = 24, .ws_col = 80};
    ioctl(slave_.get(), TIOCSWINSZ, &size);
    fcntl(master_.get(), F_SETFL, O_NONBLOCK);
  }
  // What a program writes to.
  int fd() const { return slave_.get(); }
  // Its program is told as the kernel would tell it, if this were its controlling terminal.
  void Resize(unsigned short columns) {
    const winsize size{.ws_row = 24, .ws_col = columns};
    ioctl(slave_.get(), TIOCSWINSZ, &size);
    raise(SIGWINCH);
  }
  // What has been written since the last call: waits until so many bytes have come, or half a minute has passed.
  std::string Output(size_t bytes) {
    std::string output;
    while (output.size() < bytes) {
      pollfd wait{master_.get(), POLLIN, 0};
      if (poll(&wait, 1, 30000) != 1) break;
      char buffer[4096];
      const ssize_t n = read(master_.get(), buffer, sizeof(buffer));
      if (n <= 0) break;
      output.append(buffer, static_cast<size_t>(n));
    }
    return output;
  }

 private:
  UniqueFd master_;
  UniqueFd slave_;
};

inline void ExpectOutput(Pty& pty, const std::string& expected) { EXPECT_EQ(pty.Output(expected.size()), expected); }

}  // namespace ddp

#endif  // DDP_CLIENT_TESTING_PTY_H_
