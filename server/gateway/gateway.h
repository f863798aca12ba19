// The web gateway: an HTTP/1.1 listener that serves the dashboard, every public gRPC method as gRPC-Web, /metrics and
// /healthz.
//
// One thread does all of it, without ever blocking: it copies messages between sockets and an in-process gRPC channel,
// while gRPC's own threads do the work. So a thousand idle streams cost a thousand sockets and no thread.
#ifndef DDP_SERVER_GATEWAY_GATEWAY_H_
#define DDP_SERVER_GATEWAY_GATEWAY_H_

#include <grpcpp/channel.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/gateway/limits.h"

namespace ddp {

class Gateway {
 public:
  struct Options {
    std::string listen;              // HOST:PORT, port 0: any free one
    std::vector<std::string> hosts;  // further names by which pages may call it, see Site
    std::string token;
    std::string certificate_pem;  // with the chain; empty: no TLS, and then only loopback is allowed
    std::string key_pem;
    WebLimits limits;
  };
  // What it asks of the rest of the daemon.
  struct Backend {
    std::shared_ptr<grpc::Channel> channel;
    std::function<std::string()> metrics;                     // the text of /metrics; may block
    std::function<void(std::function<void()>)> run_blocking;  // on a thread that may block
  };

  // Listens, and accepts nothing yet. InvalidArgument names the flag that is wrong; Internal: the port is taken.
  static absl::StatusOr<std::unique_ptr<Gateway>> Listen(Options options);
  // Once.
  void Serve(Backend backend);
  // Ends all streams with UNAVAILABLE and closes every connection, within about half a second.
  ~Gateway();

  // "http://127.0.0.1:8080"
  const std::string& url() const { return url_; }

 private:
  class Loop;
  Gateway(std::unique_ptr<Loop> loop, std::string url);

  std::unique_ptr<Loop> loop_;
  std::string url_;
};

}  // namespace ddp

#endif  // DDP_SERVER_GATEWAY_GATEWAY_H_
