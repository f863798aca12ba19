// The listening gRPC server with all services.
#ifndef DDP_SERVER_API_SERVER_H_
#define DDP_SERVER_API_SERVER_H_

#include <grpcpp/server.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/api/services.h"

namespace ddp {

class ApiServer {
 public:
  // listen: "HOST:PORT", port 0: any. HOST must be a loopback address. InvalidArgument otherwise, Internal when the
  // port is taken.
  static absl::StatusOr<std::unique_ptr<ApiServer>> Start(ApiContext& api, v1::SystemInfo info,
                                                          const std::string& listen);
  // Ends all calls within about a second.
  ~ApiServer();

  const std::string& address() const { return address_; }
  // Calls without a socket.
  std::shared_ptr<grpc::Channel> InProcessChannel();

 private:
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace ddp

#endif  // DDP_SERVER_API_SERVER_H_
