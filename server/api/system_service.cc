#include "ddp/v1/system.grpc.pb.h"
#include "server/api/services.h"

namespace ddp {

namespace {

class SystemServiceImpl final : public v1::SystemService::CallbackService {
 public:
  SystemServiceImpl(ApiContext& api, v1::SystemInfo info, const std::string& address)
      : api_(api), info_(std::move(info)), address_(address) {}

  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context, const v1::GetInfoRequest*,
                                    v1::SystemInfo* response) override {
    return Unary(api_, context, [this, response] {
      *response = info_;
      response->set_address(address_);
      const std::vector<v1::Slot> slots = api_.manager.Slots();
      *response->mutable_slots() = {slots.begin(), slots.end()};
      return grpc::Status::OK;
    });
  }

 private:
  ApiContext& api_;
  const v1::SystemInfo info_;
  const std::string& address_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeSystemService(ApiContext& api, const v1::SystemInfo& info,
                                                 const std::string& address) {
  return std::make_unique<SystemServiceImpl>(api, info, address);
}

}  // namespace ddp
