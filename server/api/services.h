// The services of proto/ddp/v1, as implementations behind their generated interfaces.
#ifndef DDP_SERVER_API_SERVICES_H_
#define DDP_SERVER_API_SERVICES_H_

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>

#include "ddp/v1/system.pb.h"
#include "server/api/context.h"

namespace ddp {

std::unique_ptr<grpc::Service> MakeJobService(ApiContext& api);
std::unique_ptr<grpc::Service> MakeMetricService(ApiContext& api);
std::unique_ptr<grpc::Service> MakeLogService(ApiContext& api);
std::unique_ptr<grpc::Service> MakeLiveService(ApiContext& api);
std::unique_ptr<grpc::Service> MakeCheckpointService(ApiContext& api);
// info: what does not change. address: borrowed, complete once the server listens.
std::unique_ptr<grpc::Service> MakeSystemService(ApiContext& api, const v1::SystemInfo& info,
                                                 const std::string& address);
std::unique_ptr<grpc::Service> MakeRunnerService(ApiContext& api);

}  // namespace ddp

#endif  // DDP_SERVER_API_SERVICES_H_
