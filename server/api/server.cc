#include "server/api/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "common/host_port.h"
#include "common/status_macros.h"

namespace ddp {

namespace {
constexpr std::chrono::milliseconds kGoodbye{500};
constexpr int kLargestMessage = 16 << 20;
}  // namespace

absl::StatusOr<std::unique_ptr<ApiServer>> ApiServer::Start(ApiContext& api, v1::SystemInfo info,
                                                            const std::string& listen) {
  DDP_ASSIGN_OR_RETURN(HostPort where, ParseHostPort("--listen", listen));
  if (!where.is_loopback()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--listen ", listen,
                     ": only loopback addresses (127.0.0.1, [::1]) are allowed, since traffic is not encrypted"));
  }
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  auto result = std::make_unique<ApiServer>();
  grpc::ServerBuilder builder;
  // With port sharing a second daemon on the port would take a part of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(kLargestMessage);
  int bound = 0;
  builder.AddListeningPort(listen, grpc::experimental::LocalServerCredentials(LOCAL_TCP), &bound);
  result->services_.push_back(MakeJobService(api));
  result->services_.push_back(MakeMetricService(api));
  result->services_.push_back(MakeLogService(api));
  result->services_.push_back(MakeLiveService(api));
  result->services_.push_back(MakeCheckpointService(api));
  result->services_.push_back(MakeRunnerService(api));
  result->services_.push_back(MakeSystemService(api, info, result->address_));
  for (const auto& service : result->services_) builder.RegisterService(service.get());
  result->server_ = builder.BuildAndStart();
  if (result->server_ == nullptr || bound == 0) {
    return absl::InternalError(absl::StrCat("cannot listen on ", listen, ": is the port in use?"));
  }
  where.port = bound;
  result->address_ = where.ToString();
  return result;
}

std::shared_ptr<grpc::Channel> ApiServer::InProcessChannel() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  return server_->InProcessChannel(arguments);
}

ApiServer::~ApiServer() {
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now() + kGoodbye);
}

}  // namespace ddp
