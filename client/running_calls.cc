#include "client/running_calls.h"

namespace ddp {

void RunningCalls::Add(grpc::ClientContext* context) {
  std::lock_guard lock(mutex_);
  contexts_.insert(context);
  if (cancelled_) context->TryCancel();
}

void RunningCalls::Remove(grpc::ClientContext* context) {
  std::lock_guard lock(mutex_);
  contexts_.erase(context);
}

void RunningCalls::CancelAll() {
  std::lock_guard lock(mutex_);
  cancelled_ = true;
  for (grpc::ClientContext* context : contexts_) context->TryCancel();
}

bool RunningCalls::cancelled() {
  std::lock_guard lock(mutex_);
  return cancelled_;
}

}  // namespace ddp
