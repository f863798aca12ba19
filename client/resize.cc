#include "client/resize.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace ddp {

namespace {

std::atomic<int> resize_fd = -1;

void OnResize(int) {
  const int fd = resize_fd;
  if (fd >= 0) Wake(fd);
}

}  // namespace

ResizeSignal::ResizeSignal(int event_fd) : old_fd_(resize_fd.exchange(event_fd)) {
  struct sigaction action {};
  action.sa_handler = OnResize;
  action.sa_flags = SA_RESTART;
  sigaction(SIGWINCH, &action, &old_);
}

ResizeSignal::~ResizeSignal() {
  sigaction(SIGWINCH, &old_, nullptr);
  resize_fd = old_fd_;
}

void Wake(int event_fd) {
  const int error = errno;
  const uint64_t one = 1;
  // A full one is readable already.
  if (write(event_fd, &one, sizeof(one)) < 0) errno = error;
}

void Drain(int event_fd) {
  uint64_t count = 0;
  if (read(event_fd, &count, sizeof(count)) < 0) return;  // nothing was there
}

}  // namespace ddp
