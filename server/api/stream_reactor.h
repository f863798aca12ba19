// A server stream out of a source.
#ifndef DDP_SERVER_API_STREAM_REACTOR_H_
#define DDP_SERVER_API_STREAM_REACTOR_H_

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/api/context.h"
#include "server/stream_step.h"

namespace ddp {

// Asks `source->Next(message)` on the executor, writes what it yields, and waits for Wake() when it has nothing, or
// until it is time to ask again. One message is in flight at a time, so that a slow reader slows only its own source.
// Lives until gRPC is done with it and no timer holds it.
template <typename Source, typename Response>
class StreamReactor final : public grpc::ServerWriteReactor<Response> {
 public:
  // make_source gets the wake function that the source calls; it runs on the executor.
  using MakeSource = std::function<absl::StatusOr<std::unique_ptr<Source>>(std::function<void()> wake)>;

  static grpc::ServerWriteReactor<Response>* Start(ApiContext& api, grpc::CallbackServerContext* context,
                                                   MakeSource make_source) {
    auto reactor = std::make_shared<StreamReactor>(api.executor, std::move(make_source));
    reactor->self_ = reactor;
    if (grpc::Status status = Authorize(*context, api.token); !status.ok()) {
      reactor->Finish(status);
    } else {
      api.executor.Post([raw = reactor.get()] { raw->Begin(); });
    }
    return reactor.get();
  }
  StreamReactor(Executor& executor, MakeSource make_source)
      : executor_(executor), make_source_(std::move(make_source)) {}

 private:
  static constexpr absl::Duration kPoll = absl::Milliseconds(100);
  static constexpr absl::Duration kIdle = absl::Seconds(10);

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

  // With the mutex held. A timer that is due earlier will do: when it finds nothing, it is set again.
  void SetTimer(absl::Duration delay) {
    const absl::Time due = absl::Now() + delay;
    if (timer_ <= due) return;
    timer_ = due;
    executor_.PostAfter(delay, [self = self_, due] { self->OnTimer(due); });
  }

  void OnTimer(absl::Time due) {
    {
      std::lock_guard lock(mutex_);
      if (timer_ == due) timer_ = absl::InfiniteFuture();
      if (busy_) return;
      busy_ = true;
    }
    Step();
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
      if (*step == StreamStep::kEnd) {
        End(grpc::Status::OK);
        return;
      }
      std::lock_guard lock(mutex_);
      if (*step == StreamStep::kItem) {
        last_item_ = absl::Now();
        this->StartWrite(&message_);
        return;
      }
      if (!again_ && !cancelled_) {
        busy_ = false;
        if (*step == StreamStep::kPoll) SetTimer(kPoll);
        if (*step == StreamStep::kIdle) SetTimer(std::max(kPoll, last_item_ + kIdle - absl::Now()));
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
    executor_.Post([self = std::move(self_)] {
      self->mutex_.lock();  // after whoever ended the stream
      self->mutex_.unlock();
      self->source_.reset();  // while everything that its wake-ups touch is still there
    });
  }

  Executor& executor_;
  const MakeSource make_source_;
  std::shared_ptr<StreamReactor> self_;  // until gRPC is done; timers hold it as well
  std::unique_ptr<Source> source_;
  Response message_;
  std::mutex mutex_;
  bool busy_ = true;  // a Step runs, a write is in flight, or the stream is over
  bool again_ = false;
  bool cancelled_ = false;
  absl::Time timer_ = absl::InfiniteFuture();  // when the next timer is due
  absl::Time last_item_ = absl::Now();
};

}  // namespace ddp

#endif  // DDP_SERVER_API_STREAM_REACTOR_H_
