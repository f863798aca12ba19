// A server stream out of a source.
#ifndef DDP_SERVER_API_STREAM_REACTOR_H_
#define DDP_SERVER_API_STREAM_REACTOR_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/statusor.h"
#include "server/api/context.h"
#include "server/stream_step.h"

namespace ddp {

// Asks `source->Next(message)` on the executor, writes what it yields, and waits for Wake() when it has nothing. One
// message is in flight at a time, so that a slow reader slows only its own source. Deletes itself.
template <typename Source, typename Response>
class StreamReactor final : public grpc::ServerWriteReactor<Response> {
 public:
  // make_source gets the wake function that the source calls; it runs on the executor.
  using MakeSource = std::function<absl::StatusOr<std::unique_ptr<Source>>(std::function<void()> wake)>;

  StreamReactor(ApiContext& api, grpc::CallbackServerContext* context, MakeSource make_source)
      : executor_(api.executor), make_source_(std::move(make_source)) {
    if (grpc::Status status = Authorize(*context, api.token); !status.ok()) {
      this->Finish(status);
      return;
    }
    executor_.Post([this] { Begin(); });
  }

 private:
  // From any thread, also with the source's locks held.
  void Wake() {
    std::lock_guard lock(mutex_);
    if (busy_) {
      again_ = true;
      return;
    }
    busy_ = true;
    executor_.Post([this] { Step(); });
  }

  // The mutex also hands over, from thread to thread, what gRPC's own synchronisation hands over invisibly for
  // sanitizers.
  void End(const grpc::Status& status) {
    std::lock_guard lock(mutex_);
    this->Finish(status);
  }

  void Begin() {
    absl::StatusOr<std::unique_ptr<Source>> source = make_source_([this] { Wake(); });
    if (!source.ok()) {
      End(ToGrpc(source.status()));
      return;
    }
    source_ = *std::move(source);
    Step();
  }

  void Step() {
    for (;;) {
      {
        std::lock_guard lock(mutex_);
        again_ = false;
        if (cancelled_) break;
      }
      const absl::StatusOr<StreamStep> step = source_->Next(message_);
      if (!step.ok()) {
        End(ToGrpc(step.status()));
        return;
      }
      if (*step == StreamStep::kItem) {
        std::lock_guard lock(mutex_);
        this->StartWrite(&message_);
        return;
      }
      if (*step == StreamStep::kEnd) {
        End(grpc::Status::OK);
        return;
      }
      if (*step == StreamStep::kPoll) {
        executor_.PostAfter(absl::Milliseconds(100), [this] { Step(); });
        return;
      }
      std::lock_guard lock(mutex_);
      if (!again_ && !cancelled_) {
        busy_ = false;
        return;
      }
    }
    End(grpc::Status::CANCELLED);
  }

  void OnWriteDone(bool ok) override {
    {
      std::lock_guard lock(mutex_);
      cancelled_ |= !ok;
    }
    executor_.Post([this] { Step(); });
  }
  void OnCancel() override {
    {
      std::lock_guard lock(mutex_);
      cancelled_ = true;
    }
    Wake();
  }
  void OnDone() override {
    // The source leaves its hub under the hub's lock, which must not happen on a gRPC thread that others wait for.
    executor_.Post([this] {
      mutex_.lock();  // after whoever ended the stream
      mutex_.unlock();
      source_.reset();  // while everything that its wake-ups touch is still there
      delete this;
    });
  }

  Executor& executor_;
  const MakeSource make_source_;
  std::unique_ptr<Source> source_;
  Response message_;
  std::mutex mutex_;
  bool busy_ = true;  // a Step runs, a write is in flight, or the stream is over
  bool again_ = false;
  bool cancelled_ = false;
};

}  // namespace ddp

#endif  // DDP_SERVER_API_STREAM_REACTOR_H_
