#include "server/gateway/connection.h"

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/bearer.h"
#include "common/logging.h"
#include "server/gateway/call.h"
#include "server/gateway/frames.h"
#include "server/gateway/method.h"
#include "server/gateway/response.h"

namespace ddp {

namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr size_t kReadBytes = size_t{16} << 10;
constexpr size_t kBufferBytes = size_t{64} << 10;  // above the largest head
constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr char kBearer[] = "Bearer realm=\"ddpd\"";

grpc::Status ToGrpcStatus(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

bool IsGrpcWeb(std::string_view content_type) {
  content_type = content_type.substr(0, content_type.find(';'));
  return content_type == "application/grpc-web" || content_type == "application/grpc-web+proto";
}

template <typename Stream>
class ConnectionOn final : public Connection, public std::enable_shared_from_this<ConnectionOn<Stream>> {
 public:
  template <typename... Arguments>
  explicit ConnectionOn(WebServer& server, tcp::socket socket, Arguments&... arguments)
      : server_(server), stream_(std::move(socket), arguments...), deadline_(stream_.get_executor()) {
    server_.connections.insert(this);
  }
  ~ConnectionOn() override { server_.connections.erase(this); }

  void Begin() {
    if constexpr (std::is_same_v<Stream, tcp::socket>) {
      ReadHead();
    } else {
      Arm(server_.limits.idle);
      stream_.async_handshake(net::ssl::stream_base::server, [self = Self()](error_code error) {
        if (error) {
          self->Close();
        } else {
          self->ReadHead();
        }
      });
    }
  }

  void Stop() override {
    stopping_ = true;
    if (call_ == nullptr) {
      Close();
    } else {
      FailCall(absl::UnavailableError("the daemon stops; running jobs go on, ask again soon"));
    }
  }

  void Close() override {
    if (std::exchange(closed_, true)) return;
    deadline_.cancel();
    error_code ignored;
    Socket().close(ignored);
    if (call_ != nullptr) call_->Cancel();
  }

 private:
  using Pointer = std::shared_ptr<ConnectionOn>;
  Pointer Self() { return this->shared_from_this(); }

  tcp::socket& Socket() {
    if constexpr (std::is_same_v<Stream, tcp::socket>) {
      return stream_;
    } else {
      return beast::get_lowest_layer(stream_);
    }
  }

  // Closes unless it is armed again, or disarmed, in time.
  void Arm(std::chrono::milliseconds after) {
    deadline_.expires_after(after);
    deadline_.async_wait([weak = this->weak_from_this()](error_code error) {
      if (error) return;
      if (const Pointer self = weak.lock()) self->Close();
    });
  }
  void Disarm() { deadline_.cancel(); }

  // ---- Requests

  void ReadHead() {
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(server_.limits.header_bytes));
    parser_->body_limit(std::numeric_limits<uint64_t>::max());  // messages are limited, one by one
    Arm(server_.limits.idle);
    http::async_read_header(stream_, buffer_, *parser_, [self = Self()](error_code error, size_t) {
      if (self->closed_) return;
      if (!error) {
        self->Dispatch();
      } else if (error == http::error::header_limit || error == http::error::buffer_overflow) {
        self->Refuse(431, "the request's head is too large");
      } else if (error != http::error::end_of_stream && error != http::error::partial_message &&
                 error.category() == http::make_error_code(http::error::bad_method).category()) {
        self->Refuse(400, "this is no HTTP request: " + error.message());
      } else {
        self->Close();
      }
    });
  }

  const http::request<http::buffer_body>& request() const { return parser_->get(); }

  // Unset unless the request has it exactly once.
  std::optional<std::string_view> Header(std::string_view name) const {
    const auto [first, last] = request().equal_range(beast::string_view(name.data(), name.size()));
    if (first == last || std::next(first) != last) return std::nullopt;
    return std::string_view(first->value().data(), first->value().size());
  }

  void Dispatch() {
    keep_alive_ = parser_->keep_alive() && !stopping_;
    const std::string_view target(request().target().data(), request().target().size());
    const std::string_view path = target.substr(0, target.find('?'));
    const std::optional<std::string_view> origin = Header("Origin");
    if (!origin && request().count(http::field::origin) > 0) {
      Refuse(403, "the request has several Origin headers");
      return;
    }
    if (const absl::Status status = server_.site.Check(Header("Host"), origin); !status.ok()) {
      Refuse(403, std::string(status.message()));
      return;
    }
    if (request().method() == http::verb::post) {
      DispatchCall(std::string(path));
      return;
    }
    const bool head = request().method() == http::verb::head;
    if (!head && request().method() != http::verb::get) {
      WebResponse response = TextResponse(405, "only GET, HEAD and POST are served");
      response.headers.emplace_back("Allow", "GET, HEAD, POST");
      keep_alive_ = false;
      Respond(std::move(response), false);
      return;
    }
    if (!parser_->is_done()) {
      Refuse(413, "a GET has no body");
      return;
    }
    if (path == "/healthz") {
      Respond(TextResponse(200, "ok"), head);
    } else if (path == "/metrics") {
      RespondMetrics(head);
    } else {
      RespondAsset(path, head);
    }
  }

  void RespondMetrics(bool head) {
    if (const absl::Status status = CheckBearer(Header("Authorization"), server_.token); !status.ok()) {
      WebResponse response = TextResponse(401, std::string(status.message()));
      response.headers.emplace_back("WWW-Authenticate", kBearer);
      Respond(std::move(response), head);
      return;
    }
    Disarm();
    // The connection goes back to its own thread, which also deletes it.
    server_.run_blocking([self = Self(), head, executor = stream_.get_executor(),
                          work = net::make_work_guard(stream_.get_executor())]() mutable {
      WebResponse response{
          .headers = {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}, {"Cache-Control", "no-store"}},
          .text = self->server_.metrics()};
      net::post(executor, [self = std::move(self), head, response = std::move(response)]() mutable {
        if (!self->closed_) self->Respond(std::move(response), head);
      });
    });
  }

  void RespondAsset(std::string_view path, bool head) {
    const Asset* asset = FindAsset(server_.assets, path);
    if (asset == nullptr) {
      Respond(TextResponse(404, "there is nothing at this address"), head);
      return;
    }
    WebResponse response{
        .headers = {{"Content-Type", std::string(asset->type)},
                    {"ETag", std::string(asset->etag)},
                    {"Cache-Control", asset->immutable ? "public, max-age=31536000, immutable" : "no-cache"},
                    {"Vary", "Accept-Encoding"}},
        .fixed = asset->body};
    if (const auto known = Header("If-None-Match"); known && *known == asset->etag) {
      response.status = 304;
      response.fixed = {};
    } else if (!asset->gzip.empty() && http::token_list(request()[http::field::accept_encoding]).exists("gzip")) {
      response.headers.emplace_back("Content-Encoding", "gzip");
      response.fixed = asset->gzip;
    }
    Respond(std::move(response), head);
  }

  // ---- Whole answers

  void Refuse(int status, std::string text) {
    keep_alive_ = false;
    Respond(TextResponse(status, std::move(text)), false);
  }

  void Respond(WebResponse response, bool head) {
    keep_alive_ = keep_alive_ && parser_->is_done();
    response_ = std::move(response);
    out_text_ = ResponseHead(response_, keep_alive_);
    out_ = {net::buffer(out_text_)};
    if (!head && !response_.body().empty())
      out_.push_back(net::buffer(response_.body().data(), response_.body().size()));
    Send([self = Self()] { self->EndAnswer(); });
  }

  // Writes what is in out_; then, unless the connection breaks, `then`.
  void Send(std::function<void()> then) {
    Arm(server_.limits.transfer);
    stream_.async_write_some(out_, [self = Self(), then = std::move(then)](error_code error, size_t bytes) mutable {
      if (self->closed_) return;
      if (error) {
        self->Close();
        return;
      }
      while (!self->out_.empty() && bytes >= self->out_.front().size()) {
        bytes -= self->out_.front().size();
        self->out_.erase(self->out_.begin());
      }
      if (self->out_.empty()) {
        then();
      } else {
        self->out_.front() += bytes;
        self->Send(std::move(then));
      }
    });
  }

  // The answer is out: on to the next request, or a polite end.
  void EndAnswer() {
    response_ = {};
    decoder_ = {};
    if (stopping_) {
      Close();
    } else if (!keep_alive_ || !parser_->is_done()) {
      Linger();
    } else if (reading_) {
      next_due_ = true;
      Arm(server_.limits.idle);
    } else {
      ReadHead();
    }
  }

  // A socket that is closed with bytes unread is reset, and the peer may never see the answer: the peer closes first,
  // or time runs out.
  void Linger() {
    lingering_ = true;
    error_code ignored;
    Socket().shutdown(tcp::socket::shutdown_send, ignored);
    Arm(server_.limits.transfer);
    if (!reading_) ReadAway();
  }

  void ReadAway() {
    stream_.async_read_some(net::buffer(read_), [self = Self()](error_code error, size_t) {
      if (self->closed_) return;
      if (error) {
        self->Close();
      } else {
        self->ReadAway();
      }
    });
  }

  // ---- gRPC-Web

  void DispatchCall(const std::string& path) {
    const std::optional<std::string_view> type = Header("Content-Type");
    if (!type || !IsGrpcWeb(*type)) {
      Refuse(415, "a POST must be a gRPC-Web call: Content-Type application/grpc-web+proto");
      return;
    }
    if (request().version() < 11) {
      Refuse(505, "gRPC-Web needs HTTP/1.1");
      return;
    }
    const std::optional<std::string_view> authorization = Header("Authorization");
    if (const absl::Status status = CheckBearer(authorization, server_.token); !status.ok()) {
      RespondStatus(status);
      return;
    }
    const std::optional<WebMethod> method = FindWebMethod(path);
    if (!method) {
      RespondStatus(absl::UnimplementedError("there is no public method at this path"));
      return;
    }
    absl::Duration timeout = absl::InfiniteDuration();
    if (const auto text = Header("grpc-timeout")) {
      const absl::StatusOr<absl::Duration> parsed = ParseGrpcTimeout(*text);
      if (!parsed.ok()) {
        RespondStatus(parsed.status());
        return;
      }
      timeout = *parsed;
    }
    StartCall(*method, std::string(*authorization), timeout);
  }

  // A call that does not take place.
  void RespondStatus(const absl::Status& status) {
    Respond({.headers = {{"Content-Type", "application/grpc-web+proto"}, {"Cache-Control", "no-store"}},
             .text = WebTrailersFrame(ToGrpcStatus(status), {})},
            false);
  }

  void StartCall(const WebMethod& method, const std::string& authorization, absl::Duration timeout) {
    head_sent_ = false;
    override_ = absl::OkStatus();
    message_.reset();
    trailers_.clear();
    call_ = Call::Start(server_.stub, stream_.get_executor(), method.path, authorization, timeout,
                        {.written = [self = Self()] { self->PumpRequest(); },
                         .message = [self = Self()](const grpc::ByteBuffer& message) { self->OnMessage(message); },
                         .done = [self = Self()](const grpc::Status& status,
                                                 const WebMetadata& metadata) { self->OnCallDone(status, metadata); }});
    call_->Read();
    if (beast::iequals(request()[http::field::expect], "100-continue")) {
      writing_ = true;
      out_ = {net::buffer(kContinue, sizeof(kContinue) - 1)};
      Send([self = Self(), streams = method.streams] {
        self->writing_ = false;
        self->head_due_ = streams;
        self->PumpRequest();
        self->Flush();
      });
      return;
    }
    // The page sees that a stream is open before its first message.
    head_due_ = method.streams;
    PumpRequest();
    Flush();
  }

  // Hands on the next message of the body, reads on, or ends the request.
  void PumpRequest() {
    if (closed_ || lingering_ || call_ == nullptr || !override_.ok()) return;
    absl::StatusOr<std::optional<std::string>> message = decoder_.Next();
    if (!message.ok()) {
      FailCall(message.status());
    } else if (message->has_value()) {
      call_->Write(**message);
    } else if (!parser_->is_done()) {
      ReadBody();
    } else if (!decoder_.empty()) {
      FailCall(absl::InvalidArgumentError("the request's body ends inside a gRPC-Web frame"));
    } else {
      call_->WritesDone();
      if (!writing_) Disarm();
      WatchForHangUp();
    }
  }

  void ReadBody() {
    parser_->get().body().data = read_.data();
    parser_->get().body().size = read_.size();
    parser_->get().body().more = true;
    Arm(server_.limits.transfer);
    reading_ = true;
    http::async_read_some(stream_, buffer_, *parser_, [self = Self()](error_code error, size_t) {
      self->reading_ = false;
      if (self->closed_) return;
      if (error && error != http::error::need_buffer) {
        self->Close();
      } else if (self->lingering_) {
        self->ReadAway();
      } else {
        self->decoder_.Append({self->read_.data(), self->read_.size() - self->parser_->get().body().size});
        self->PumpRequest();
      }
    });
  }

  // While a call runs, reads what a client that is still there does not send.
  void WatchForHangUp() {
    if (reading_) return;
    reading_ = true;
    stream_.async_read_some(net::buffer(read_), [self = Self()](error_code error, size_t bytes) {
      self->reading_ = false;
      if (self->closed_) return;
      if (error) {
        self->Close();
        return;
      }
      if (self->lingering_) {
        self->ReadAway();
        return;
      }
      // The beginning of the next request.
      self->buffer_.commit(net::buffer_copy(self->buffer_.prepare(bytes), net::buffer(self->read_.data(), bytes)));
      if (std::exchange(self->next_due_, false)) self->ReadHead();
    });
  }

  void FailCall(const absl::Status& status) {
    if (override_.ok()) override_ = status;
    call_->Cancel();
  }

  void OnMessage(const grpc::ByteBuffer& message) {
    if (closed_) return;
    message_.emplace();
    if (!message.Dump(&*message_).ok()) {
      FailCall(absl::InternalError("a message of the answer cannot be read"));
      return;
    }
    Flush();
  }

  void OnCallDone(const grpc::Status& status, const WebMetadata& metadata) {
    call_.reset();
    if (closed_) return;
    trailers_ = override_.ok() ? WebTrailersFrame(status, metadata) : WebTrailersFrame(ToGrpcStatus(override_), {});
    Flush();
  }

  // Sends what is due: the head, the message that is there, or the trailers.
  void Flush() {
    if (closed_ || writing_) return;
    const bool message = message_.has_value();
    if (!message && trailers_.empty() && !head_due_) return;
    head_due_ = false;
    out_text_ = std::exchange(head_sent_, true) ? "" : StreamHead(keep_alive_);
    std::function<void()> then = [] {};
    if (message) {
      size_t bytes = 0;
      for (const grpc::Slice& slice : *message_) bytes += slice.size();
      const std::string frame = WebFrameHead(static_cast<uint32_t>(bytes));
      out_text_ += ChunkHead(frame.size() + bytes) + frame;
      then = [this] {
        message_.reset();
        if (call_ != nullptr) call_->Read();
      };
    } else if (!trailers_.empty()) {
      out_text_ += ChunkHead(trailers_.size()) + trailers_ + kChunkEnd + kLastChunk;
      then = [this] {
        trailers_.clear();
        EndAnswer();
      };
    }
    out_ = {net::buffer(out_text_)};
    if (message) {
      for (const grpc::Slice& slice : *message_) out_.push_back(net::buffer(slice.begin(), slice.size()));
      out_.push_back(net::buffer(kChunkEnd, sizeof(kChunkEnd) - 1));
    }
    writing_ = true;
    Send([self = Self(), then = std::move(then)] {
      self->writing_ = false;
      if (self->parser_->is_done()) self->Disarm();
      then();
      self->Flush();
    });
  }

  WebServer& server_;
  Stream stream_;
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

}  // namespace

void Connection::Serve(tcp::socket socket, WebServer& server) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(net::socket_base::keep_alive(true), ignored);
  if (server.tls == nullptr) {
    std::make_shared<ConnectionOn<tcp::socket>>(server, std::move(socket))->Begin();
  } else {
    std::make_shared<ConnectionOn<beast::ssl_stream<tcp::socket>>>(server, std::move(socket), *server.tls)->Begin();
  }
}

}  // namespace ddp
