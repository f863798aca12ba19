// A client's stream into a sink.
#ifndef DDP_SERVER_API_UPLOAD_REACTOR_H_
#define DDP_SERVER_API_UPLOAD_REACTOR_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/statusor.h"
#include "server/api/context.h"

namespace ddp {

// Takes one message at a time, hands it to the sink on the executor, asks for the next. It lives until gRPC is done
// with it and no message is being handled. The sink has
//   absl::Status Take(const Request&);
//   absl::StatusOr<Response> Finish();  // the client has sent everything
//   void Undo();                        // it has gone before it could be told how Finish ended
// and removes what has come in its destructor, unless Finish kept it.
template <typename Sink, typename Request, typename Response>
class UploadReactor final : public grpc::ServerReadReactor<Request> {
 public:
  static grpc::ServerReadReactor<Request>* Start(ApiContext& api, grpc::CallbackServerContext* context,
                                                 Response* response, std::unique_ptr<Sink> sink) {
    auto reactor = std::make_shared<UploadReactor>(api.executor, context, response, std::move(sink));
    reactor->self_ = reactor;
    if (grpc::Status status = Authorize(*context, api.token); !status.ok()) {
      reactor->End(status);
    } else {
      reactor->StartRead(&reactor->incoming_);
    }
    return reactor.get();
  }
  UploadReactor(Executor& executor, grpc::CallbackServerContext* context, Response* response,
                std::unique_ptr<Sink> sink)
      : executor_(executor), context_(context), response_(response), sink_(std::move(sink)) {}

 private:
  void End(const grpc::Status& status) {
    std::lock_guard lock(mutex_);
    if (finished_) return;
    finished_ = true;
    this->Finish(status);
  }

  void OnReadDone(bool ok) override {
    {
      // After the thread that handled the message before: gRPC's own order is invisible for sanitizers.
      std::lock_guard lock(mutex_);
      if (finished_) return;
    }
    executor_.Post([self = self_, ok] { ok ? self->Take() : self->Complete(); });
  }

  void Take() {
    const absl::Status status = sink_->Take(incoming_);
    if (!status.ok()) {
      End(ToGrpc(status));
      return;
    }
    std::lock_guard lock(mutex_);
    if (!finished_) this->StartRead(&incoming_);
  }

  // The client has sent everything, or has gone.
  void Complete() {
    {
      std::lock_guard lock(mutex_);
      if (finished_) return;
      if (context_->IsCancelled()) {
        finished_ = true;
        this->Finish(grpc::Status::CANCELLED);
        return;
      }
    }
    const absl::StatusOr<Response> result = sink_->Finish();
    bool gone = false;
    {
      std::lock_guard lock(mutex_);
      // When it has gone meanwhile, gRPC may have freed the response.
      gone = finished_ || context_->IsCancelled();
      if (!finished_) {
        finished_ = true;
        if (result.ok()) *response_ = *result;
        this->Finish(result.ok() ? grpc::Status::OK : ToGrpc(result.status()));
      }
    }
    if (gone && result.ok()) sink_->Undo();
  }

  void OnCancel() override { End(grpc::Status::CANCELLED); }
  void OnDone() override {
    // Removing what has come may block.
    executor_.Post([self = std::move(self_)] {});
  }

  Executor& executor_;
  grpc::CallbackServerContext* const context_;  // of gRPC, until it is finished
  Response* const response_;                    // the same
  std::shared_ptr<UploadReactor> self_;
  Request incoming_;
  const std::unique_ptr<Sink> sink_;
  std::mutex mutex_;
  bool finished_ = false;
};

}  // namespace ddp

#endif  // DDP_SERVER_API_UPLOAD_REACTOR_H_
