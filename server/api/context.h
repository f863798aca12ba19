// What every service needs.
#ifndef DDP_SERVER_API_CONTEXT_H_
#define DDP_SERVER_API_CONTEXT_H_

#include <grpcpp/grpcpp.h>

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/api/auth.h"
#include "server/api/executor.h"
#include "server/api/status.h"
#include "server/manager/job_manager.h"
#include "server/metrics/hub.h"
#include "server/store/store.h"

namespace ddp {

// Borrowed; outlives the services.
struct ApiContext {
  JobManager& manager;
  MetricHub& hub;
  Reader& reader;
  Executor& executor;
  const std::string token;
  const std::string home;           // where imported weights go
  const std::string worker_binary;  // reads checkpoints and weights
};

// A unary call: asks for the token, runs `handle` (returns a grpc::Status) on the executor and finishes.
template <typename Handle>
grpc::ServerUnaryReactor* Unary(ApiContext& api, grpc::CallbackServerContext* context, Handle handle) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (grpc::Status status = Authorize(*context, api.token); !status.ok()) {
    reactor->Finish(status);
    return reactor;
  }
  api.executor.Post([reactor, handle = std::move(handle)] { reactor->Finish(handle()); });
  return reactor;
}

// The same for handlers that return StatusOr<Response>.
template <typename Response, typename Handle>
grpc::ServerUnaryReactor* UnaryOr(ApiContext& api, grpc::CallbackServerContext* context, Response* response,
                                  Handle handle) {
  return Unary(api, context, [response, handle = std::move(handle)]() -> grpc::Status {
    absl::StatusOr<Response> result = handle();
    if (!result.ok()) return ToGrpc(result.status());
    *response = *std::move(result);
    return grpc::Status::OK;
  });
}

}  // namespace ddp

#endif  // DDP_SERVER_API_CONTEXT_H_
