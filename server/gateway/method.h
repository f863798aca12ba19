// Which gRPC methods the gateway passes on.
#ifndef DDP_SERVER_GATEWAY_METHOD_H_
#define DDP_SERVER_GATEWAY_METHOD_H_

#include <optional>
#include <string>

namespace ddp {

struct WebMethod {
  std::string path;      // "/ddp.v1.JobService/Watch"
  bool streams = false;  // the server sends several messages
};

// Every method of ddp.v1, read from the contract itself, but those of runners, which are internal. Unset: none of them.
std::optional<WebMethod> FindWebMethod(const std::string& path);

}  // namespace ddp

#endif  // DDP_SERVER_GATEWAY_METHOD_H_
