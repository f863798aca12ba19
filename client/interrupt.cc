#include "client/interrupt.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "client/exit_codes.h"

namespace ddp {

namespace {

int interrupt_pipe[2] = {-1, -1};

void OnInterrupt(int) {
  const int error = errno;
  const char byte = 0;
  // A full pipe has said it already.
  if (write(interrupt_pipe[1], &byte, 1) < 0) errno = error;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  if (pipe2(interrupt_pipe, O_CLOEXEC) != 0) throw ExitError(kRefused, "cannot make a pipe");
  struct sigaction action {};
  action.sa_handler = OnInterrupt;
  sigaction(SIGINT, &action, &old_);
  thread_ = std::thread([this] {
    char byte = 0;
    while (read(interrupt_pipe[0], &byte, 1) < 0 && errno == EINTR) {
    }
    if (!leaving_) calls_.CancelAll();
  });
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &old_, nullptr);
  leaving_ = true;
  OnInterrupt(SIGINT);  // wakes the thread
  thread_.join();
  close(interrupt_pipe[0]);
  close(interrupt_pipe[1]);
}

}  // namespace ddp
