#include "ddp/v1/log.grpc.pb.h"
#include "server/api/log_source.h"
#include "server/api/services.h"
#include "server/api/stream_reactor.h"

namespace ddp {

namespace {

class LogServiceImpl final : public v1::LogService::CallbackService {
 public:
  explicit LogServiceImpl(ApiContext& api) : api_(api) {}

  grpc::ServerUnaryReactor* Read(grpc::CallbackServerContext* context, const v1::ReadLogRequest* request,
                                 v1::ReadLogResponse* response) override {
    return UnaryOr(api_, context, response, [this, request] { return ReadLogs(api_.manager, *request); });
  }
  grpc::ServerWriteReactor<v1::FollowLogResponse>* Follow(grpc::CallbackServerContext* context,
                                                          const v1::FollowLogRequest* request) override {
    // It polls the files, so nobody has to wake it.
    return StreamReactor<LogFollower, v1::FollowLogResponse>::Start(
        api_, context,
        [this, request = *request](const std::function<void()>&) { return LogFollower::Make(api_.manager, request); });
  }

 private:
  ApiContext& api_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeLogService(ApiContext& api) { return std::make_unique<LogServiceImpl>(api); }

}  // namespace ddp
