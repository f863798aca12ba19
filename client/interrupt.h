// Ctrl-C as the end of the running calls.
#ifndef DDP_CLIENT_INTERRUPT_H_
#define DDP_CLIENT_INTERRUPT_H_

#include <atomic>
#include <csignal>
#include <thread>

#include "client/running_calls.h"

namespace ddp {

// Turns SIGINT, on whatever thread it arrives, into the end of the calls that run. One guard at a time. Thread-safe.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  RunningCalls& calls() { return calls_; }
  bool interrupted() { return calls_.cancelled(); }

 private:
  struct sigaction old_ {};
  RunningCalls calls_;
  std::atomic<bool> leaving_ = false;
  std::thread thread_;
};

}  // namespace ddp

#endif  // DDP_CLIENT_INTERRUPT_H_
