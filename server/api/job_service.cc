#include "ddp/v1/job.grpc.pb.h"
#include "server/api/services.h"
#include "server/api/stream_reactor.h"
#include "server/manager/watch.h"
#include "server/manager/watch_all.h"

namespace ddp {

namespace {

class JobServiceImpl final : public v1::JobService::CallbackService {
 public:
  explicit JobServiceImpl(ApiContext& api) : api_(api) {}

  grpc::ServerUnaryReactor* Submit(grpc::CallbackServerContext* context, const v1::SubmitJobRequest* request,
                                   v1::SubmitJobResponse* response) override {
    return Unary(api_, context, [this, request, response]() -> grpc::Status {
      SubmitResult result = api_.manager.Submit(*request);
      if (!result.status.ok()) return ToGrpc(result.status, result.violations);
      *response = std::move(result.response);
      return grpc::Status::OK;
    });
  }
  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context, const v1::GetJobRequest* request,
                                v1::Job* response) override {
    return UnaryOr(api_, context, response, [this, request] { return api_.manager.Get(request->id()); });
  }
  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context, const v1::ListJobsRequest* request,
                                 v1::ListJobsResponse* response) override {
    return UnaryOr(api_, context, response, [this, request] { return api_.manager.List(*request); });
  }
  grpc::ServerUnaryReactor* Cancel(grpc::CallbackServerContext* context, const v1::CancelJobRequest* request,
                                   v1::Job* response) override {
    return UnaryOr(api_, context, response,
                   [this, request] { return api_.manager.Cancel(request->id(), request->force()); });
  }
  grpc::ServerUnaryReactor* Pause(grpc::CallbackServerContext* context, const v1::PauseJobRequest* request,
                                  v1::Job* response) override {
    return UnaryOr(api_, context, response, [this, request] { return api_.manager.Pause(request->id()); });
  }
  grpc::ServerUnaryReactor* Resume(grpc::CallbackServerContext* context, const v1::ResumeJobRequest* request,
                                   v1::Job* response) override {
    return Unary(api_, context, [this, request, response]() -> grpc::Status {
      std::vector<v1::FieldViolation> violations;
      absl::StatusOr<v1::Job> job = api_.manager.Resume(*request, &violations);
      if (!job.ok()) return ToGrpc(job.status(), violations);
      *response = *std::move(job);
      return grpc::Status::OK;
    });
  }
  grpc::ServerUnaryReactor* Delete(grpc::CallbackServerContext* context, const v1::DeleteJobRequest* request,
                                   v1::DeleteJobResponse*) override {
    return Unary(api_, context, [this, request] { return ToGrpc(api_.manager.Delete(request->id())); });
  }
  grpc::ServerWriteReactor<v1::WatchJobResponse>* Watch(grpc::CallbackServerContext* context,
                                                        const v1::WatchJobRequest* request) override {
    return StreamReactor<JobSubscription, v1::WatchJobResponse>::Start(
        api_, context, [this, id = request->id(), after = request->after_event()](std::function<void()> wake) {
          return api_.manager.Watch(id, after, std::move(wake));
        });
  }

  grpc::ServerWriteReactor<v1::WatchJobsResponse>* WatchAll(grpc::CallbackServerContext* context,
                                                            const v1::WatchJobsRequest*) override {
    using Source = absl::StatusOr<std::unique_ptr<JobsSubscription>>;
    return StreamReactor<JobsSubscription, v1::WatchJobsResponse>::Start(
        api_, context, [this](std::function<void()> wake) -> Source { return api_.manager.WatchAll(std::move(wake)); });
  }

 private:
  ApiContext& api_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeJobService(ApiContext& api) { return std::make_unique<JobServiceImpl>(api); }

}  // namespace ddp
