#include "ddp/v1/live.grpc.pb.h"
#include "server/api/live_source.h"
#include "server/api/services.h"
#include "server/api/stream_reactor.h"

namespace ddp {

namespace {

class LiveServiceImpl final : public v1::LiveService::CallbackService {
 public:
  explicit LiveServiceImpl(ApiContext& api) : api_(api) {}

  grpc::ServerWriteReactor<v1::FollowResponse>* Follow(grpc::CallbackServerContext* context,
                                                       const v1::FollowRequest* request) override {
    return StreamReactor<LiveFollower, v1::FollowResponse>::Start(
        api_, context, [this, request = *request](std::function<void()> wake) {
          return LiveFollower::Make(api_, request, std::move(wake));
        });
  }

 private:
  ApiContext& api_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeLiveService(ApiContext& api) { return std::make_unique<LiveServiceImpl>(api); }

}  // namespace ddp
