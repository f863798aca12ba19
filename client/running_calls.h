// Calls that can be ended from another thread.
#ifndef DDP_CLIENT_RUNNING_CALLS_H_
#define DDP_CLIENT_RUNNING_CALLS_H_

#include <grpcpp/client_context.h>

#include <mutex>
#include <set>

#include "absl/base/thread_annotations.h"

namespace ddp {

// Thread-safe.
class RunningCalls {
 public:
  // The context must be removed before it dies. Once all have been cancelled, what is added is cancelled at once.
  void Add(grpc::ClientContext* context);
  void Remove(grpc::ClientContext* context);
  void CancelAll();
  bool cancelled();

 private:
  std::mutex mutex_;
  std::set<grpc::ClientContext*> contexts_ ABSL_GUARDED_BY(mutex_);
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

// A context that CancelAll ends, for as long as the scope lasts.
class RunningCall {
 public:
  RunningCall(RunningCalls& calls, grpc::ClientContext* context) : calls_(calls), context_(context) {
    calls_.Add(context_);
  }
  ~RunningCall() { calls_.Remove(context_); }
  RunningCall(const RunningCall&) = delete;

 private:
  RunningCalls& calls_;
  grpc::ClientContext* const context_;
};

}  // namespace ddp

#endif  // DDP_CLIENT_RUNNING_CALLS_H_
