// The listening gRPC server with all services.
#ifndef DDP_SERVER_API_SERVER_H_
#define DDP_SERVER_API_SERVER_H_

#include <grpcpp/server.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/tls_pair.h"
#include "server/api/services.h"

namespace ddp {

class ApiServer {
 public:
  // listen: "HOST:PORT", port 0: any. HOST must be a loopback address unless there is TLS. InvalidArgument otherwise,
  // Internal when the port is taken.
  static absl::StatusOr<std::unique_ptr<ApiServer>> Start(ApiContext& api, v1::SystemInfo info,
                                                          const std::string& listen,
                                                          const std::optional<TlsPair>& tls = {});
  // Ends all calls within about a second.
  ~ApiServer();

  // "127.0.0.1:5000", with TLS "https://lab.example:5000".
  const std::string& address() const { return address_; }
  // For runners and clients of this machine: the same, or, with TLS, another port, on loopback and without it.
  const std::string& local_address() const { return local_address_; }
  // Calls without a socket.
  std::shared_ptr<grpc::Channel> InProcessChannel();

 private:
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  std::string local_address_;
};

}  // namespace ddp

#endif  // DDP_SERVER_API_SERVER_H_
