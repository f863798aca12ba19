// The signal of a terminal that has another size.
#ifndef DDP_CLIENT_RESIZE_H_
#define DDP_CLIENT_RESIZE_H_

#include <csignal>

namespace ddp {

// Makes the event descriptor (eventfd) readable at each SIGWINCH. The newest one alive gets the signals.
class ResizeSignal {
 public:
  explicit ResizeSignal(int event_fd);
  ~ResizeSignal();
  ResizeSignal(const ResizeSignal&) = delete;

 private:
  struct sigaction old_ {};
  int old_fd_;
};

// Makes an eventfd readable; async-signal-safe.
void Wake(int event_fd);
// Takes what Wake has left there.
void Drain(int event_fd);

}  // namespace ddp

#endif  // DDP_CLIENT_RESIZE_H_
