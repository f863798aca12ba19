// Ctrl-C as the end of the running calls.
#ifndef DDP_CLIENT_INTERRUPT_H_
#define DDP_CLIENT_INTERRUPT_H_

#include <grpcpp/client_context.h>

#include <csignal>
#include <mutex>
#include <set>
#include <thread>

#include "absl/base/thread_annotations.h"

namespace ddp {

// Turns SIGINT, on whatever thread it arrives, into the end of the calls that run. One guard at a time. Thread-safe.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  // The context must be removed before it dies. After an interrupt, what is added is cancelled at once.
  void Add(grpc::ClientContext* context);
  void Remove(grpc::ClientContext* context);
  bool interrupted();

 private:
  struct sigaction old_ {};
  std::mutex mutex_;
  std::set<grpc::ClientContext*> contexts_ ABSL_GUARDED_BY(mutex_);
  bool interrupted_ ABSL_GUARDED_BY(mutex_) = false;
  bool leaving_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// A context that an interrupt ends, for as long as the scope lasts.
class Interruptible {
 public:
  Interruptible(InterruptGuard& guard, grpc::ClientContext* context) : guard_(guard), context_(context) {
    guard_.Add(context_);
  }
  ~Interruptible() { guard_.Remove(context_); }
  Interruptible(const Interruptible&) = delete;

 private:
  InterruptGuard& guard_;
  grpc::ClientContext* const context_;
};

}  // namespace ddp

#endif  // DDP_CLIENT_INTERRUPT_H_
