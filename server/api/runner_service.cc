#include <deque>
#include <memory>
#include <mutex>

#include "ddp/v1/runner.grpc.pb.h"
#include "server/api/services.h"

namespace ddp {

namespace {

using Reactor = grpc::ServerBidiReactor<v1::RunnerMessage, v1::CoordinatorMessage>;

class AttachReactor;

// What the manager holds on to; it outlives the connection.
class Session final : public RunnerSession {
 public:
  explicit Session(AttachReactor* reactor) : reactor_(reactor) {}
  void Send(const v1::CoordinatorMessage& message) override;
  void Drop() override;
  // The connection is over.
  void Close() {
    std::lock_guard lock(mutex_);
    reactor_ = nullptr;
  }

 private:
  std::mutex mutex_;
  AttachReactor* reactor_;
};

// One connection. Reads one message at a time, handles it on the executor, reads the next. It lives until gRPC is done
// with it and no message is being handled.
class AttachReactor final : public Reactor {
 public:
  static Reactor* Start(ApiContext& api) {
    auto reactor = std::make_shared<AttachReactor>(api);
    reactor->self_ = reactor;
    reactor->StartRead(&reactor->incoming_);
    return reactor.get();
  }
  explicit AttachReactor(ApiContext& api) : api_(api), session_(std::make_shared<Session>(this)) {}

  void Send(const v1::CoordinatorMessage& message) {
    std::lock_guard lock(mutex_);
    if (finished_) return;
    outgoing_.push_back(message);
    if (outgoing_.size() == 1) StartWrite(&outgoing_.front());
  }

  void End(const grpc::Status& status) {
    std::lock_guard lock(mutex_);
    if (finished_) return;
    finished_ = true;
    Finish(status);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) {
      End(grpc::Status::OK);
      return;
    }
    {
      // After the thread that handled the message before: gRPC's own order is invisible for sanitizers.
      std::lock_guard lock(mutex_);
      if (finished_) return;
    }
    api_.executor.Post([self = self_] { self->Handle(); });
  }

  void Handle() {
    absl::Status status;
    if (!greeted_) {
      status = incoming_.has_hello() ? api_.manager.Attach(incoming_.hello(), session_)
                                     : absl::InvalidArgumentError("the first message must be hello");
      hello_ = incoming_.hello();
      greeted_ = status.ok();
    } else if (incoming_.has_event()) {
      status = api_.manager.HandleEvent(hello_, incoming_.event());
    }
    if (!status.ok()) {
      End(ToGrpc(status));
      return;
    }
    // Not after Finish: gRPC may be done with this object then.
    std::lock_guard lock(mutex_);
    if (!finished_) StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    std::lock_guard lock(mutex_);
    outgoing_.pop_front();
    if (ok && !finished_ && !outgoing_.empty()) StartWrite(&outgoing_.front());
  }
  void OnCancel() override { End(grpc::Status::CANCELLED); }
  void OnDone() override {
    api_.executor.Post([self = std::move(self_)] {
      self->session_->Close();
      self->api_.manager.Detach(self->hello_, self->session_.get());
    });
  }

  ApiContext& api_;
  std::shared_ptr<AttachReactor> self_;
  const std::shared_ptr<Session> session_;
  v1::RunnerMessage incoming_;
  v1::RunnerHello hello_;
  bool greeted_ = false;
  std::mutex mutex_;
  std::deque<v1::CoordinatorMessage> outgoing_;
  bool finished_ = false;
};

void Session::Send(const v1::CoordinatorMessage& message) {
  std::lock_guard lock(mutex_);
  if (reactor_ != nullptr) reactor_->Send(message);
}

void Session::Drop() {
  std::lock_guard lock(mutex_);
  if (reactor_ != nullptr)
    reactor_->End({grpc::StatusCode::UNAVAILABLE, "an event could not be stored; send it again"});
}

class RunnerServiceImpl final : public v1::RunnerService::CallbackService {
 public:
  explicit RunnerServiceImpl(ApiContext& api) : api_(api) {}
  Reactor* Attach(grpc::CallbackServerContext*) override { return AttachReactor::Start(api_); }

 private:
  ApiContext& api_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeRunnerService(ApiContext& api) { return std::make_unique<RunnerServiceImpl>(api); }

}  // namespace ddp
