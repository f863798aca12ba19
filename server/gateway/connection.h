// One connection of a browser: HTTP/1.1, request after request.
#ifndef DDP_SERVER_GATEWAY_CONNECTION_H_
#define DDP_SERVER_GATEWAY_CONNECTION_H_

#include <grpcpp/generic/generic_stub.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "server/gateway/assets.h"
#include "server/gateway/limits.h"
#include "server/gateway/site.h"

namespace ddp {

class Connection;

// What all connections share. Borrowed; of the gateway's thread.
struct WebServer {
  WebLimits limits;
  Site site;
  std::string token;
  grpc::GenericStub stub;
  std::span<const Asset> assets;
  std::function<std::string()> metrics;  // the text of /metrics; may block
  std::function<void(std::function<void()>)> run_blocking;
  boost::asio::ssl::context* tls;  // null: none
  std::set<Connection*> connections;
};

// Lives until its socket is closed and its call has ended.
class Connection {
 public:
  static void Serve(boost::asio::ip::tcp::socket socket, WebServer& server);
  virtual ~Connection() = default;
  // The daemon stops: a running call ends with UNAVAILABLE, and the connection closes.
  virtual void Stop() = 0;
  // At once, whatever is not sent.
  virtual void Close() = 0;
};

}  // namespace ddp

#endif  // DDP_SERVER_GATEWAY_CONNECTION_H_
