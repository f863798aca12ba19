// The state machine behind connection.h. Its methods are in three files: connection.cc has the socket (time-outs,
// writing, ends), connection_requests.cc the heads of requests and whole answers, connection_calls.cc gRPC-Web.
#ifndef DDP_SERVER_GATEWAY_WEB_CONNECTION_H_
#define DDP_SERVER_GATEWAY_WEB_CONNECTION_H_

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/gateway/call.h"
#include "server/gateway/connection.h"
#include "server/gateway/frames.h"
#include "server/gateway/method.h"
#include "server/gateway/response.h"
#include "server/gateway/web_stream.h"

namespace ddp {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

class WebConnection final : public Connection, public std::enable_shared_from_this<WebConnection> {
 public:
  WebConnection(WebServer& server, WebStream::Socket socket)
      : server_(server), stream_(std::move(socket), server.tls), deadline_(stream_.get_executor()) {
    server_.connections.insert(this);
  }
  ~WebConnection() override { server_.connections.erase(this); }

  void Begin();
  void Stop() override;
  void Close() override;

 private:
  static constexpr size_t kReadBytes = size_t{16} << 10;
  static constexpr size_t kBufferBytes = size_t{64} << 10;  // above the largest head

  std::shared_ptr<WebConnection> Self() { return shared_from_this(); }

  // ---- The socket

  // Closes unless it is armed again, or disarmed, in time.
  void Arm(std::chrono::milliseconds after);
  void Disarm() { deadline_.cancel(); }
  // Writes what is in out_; then, unless the connection breaks, `then`.
  void Send(std::function<void()> then);
  // The answer is out: on to the next request, or a polite end.
  void EndAnswer();
  // A socket that is closed with bytes unread is reset, and the peer may never see the answer: the peer closes first,
  // or time runs out.
  void Linger();
  void ReadAway();

  // ---- Requests and whole answers

  void ReadHead();
  const http::request<http::buffer_body>& request() const { return parser_->get(); }
  // Unset unless the request has it exactly once.
  std::optional<std::string_view> Header(std::string_view name) const;
  void Dispatch();
  void RespondMetrics(bool head);
  void RespondAsset(std::string_view path, bool head);
  void Refuse(int status, std::string text);
  void Respond(WebResponse response, bool head);

  // ---- gRPC-Web

  void DispatchCall(const std::string& path);
  // A call that does not take place.
  void RespondStatus(const absl::Status& status);
  void StartCall(const WebMethod& method, const std::string& authorization, absl::Duration timeout);
  // Hands on the next message of the body, reads on, or ends the request.
  void PumpRequest();
  void ReadBody();
  // While a call runs, reads what a client that is still there does not send, unless it has sent its next request
  // already.
  void WatchForHangUp();
  void FailCall(const absl::Status& status);
  void OnMessage(const grpc::ByteBuffer& message);
  void OnCallDone(const grpc::Status& status, const WebMetadata& metadata);
  // Sends what is due: the head, the message that is there, or the trailers.
  void Flush();

  WebServer& server_;
  WebStream stream_;
  net::steady_timer deadline_;
  beast::flat_buffer buffer_{kBufferBytes};
  std::array<char, kReadBytes> read_;
  std::optional<http::request_parser<http::buffer_body>> parser_;
  bool closed_ = false;
  bool stopping_ = false;
  bool lingering_ = false;
  bool keep_alive_ = false;
  bool reading_ = false;   // a read of a body, or for a hang-up, is under way
  bool next_due_ = false;  // ...and what it reads is the next request

  // Being written; the buffers are in response_, message_ or out_text_.
  std::vector<net::const_buffer> out_;
  std::string out_text_;
  WebResponse response_;

  // The call.
  std::shared_ptr<Call> call_;
  WebFrameDecoder decoder_;
  absl::Status override_;  // what the client is told instead of the call's own status
  std::optional<std::vector<grpc::Slice>> message_;
  std::string trailers_;
  bool writing_ = false;
  bool head_due_ = false;
  bool head_sent_ = false;
};

}  // namespace ddp

#endif  // DDP_SERVER_GATEWAY_WEB_CONNECTION_H_
