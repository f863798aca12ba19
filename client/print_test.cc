#include "client/print.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "client/testing/pty.h"
#include "common/files.h"

namespace ddp {
namespace {

// Makes `target` write to `fd` while it lives.
class Redirect {
 public:
  Redirect(int target, int fd) : target_(target), saved_(dup(target)) { dup2(fd, target_); }
  ~Redirect() { dup2(saved_.get(), target_); }

 private:
  const int target_;
  const UniqueFd saved_;
};

constexpr char kNasty[] = "{\"name\": \"\x1b]0;title\x07\xC2\x9B\\n\"}\n\tb\x7f\n";

TEST(PrintTest, ATerminalGetsNoControlCharacters) {
  Pty pty;
  {
    const Redirect out(STDOUT_FILENO, pty.fd());
    Print(kNasty);
  }
  // The pseudo-terminal itself turns a newline into CR LF, and a tab into spaces or not.
  ExpectOutput(pty, "{\"name\": \"\\x1B]0;title\\x07\\xC2\\x9B\\n\"}\r\n\tb\\x7F\r\n");
  {
    const Redirect err(STDERR_FILENO, pty.fd());
    Say(kNasty);
  }
  ExpectOutput(pty, "{\"name\": \"\\x1B]0;title\\x07\\xC2\\x9B\\n\"}\r\n\tb\\x7F\r\n");
}

TEST(PrintTest, APipeGetsEveryByteOfTheAnswer) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  const UniqueFd out(fds[0]);
  const UniqueFd in(fds[1]);
  {
    const Redirect redirect(STDOUT_FILENO, in.get());
    Print(kNasty);
  }
  char buffer[100];
  const ssize_t n = read(out.get(), buffer, sizeof(buffer));
  EXPECT_EQ(std::string(buffer, static_cast<size_t>(n)), kNasty);
}

}  // namespace
}  // namespace ddp
