// A socket, plain or TLS, as one type, so that what reads and writes it is compiled once and in several files.
#ifndef DDP_SERVER_GATEWAY_WEB_STREAM_H_
#define DDP_SERVER_GATEWAY_WEB_STREAM_H_

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <optional>
#include <utility>

namespace ddp {

// An AsyncStream of Boost.Asio; handlers are functions of (error_code, size_t).
class WebStream {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using executor_type = Socket::executor_type;

  // tls: null for none; outlives the stream.
  WebStream(Socket socket, boost::asio::ssl::context* tls) : socket_(std::move(socket)) {
    if (tls != nullptr) tls_.emplace(socket_, *tls);
  }

  bool encrypted() const { return tls_.has_value(); }
  Socket& socket() { return socket_; }
  executor_type get_executor() { return socket_.get_executor(); }

  // Of an encrypted one, first.
  template <typename Handler>
  void AsyncHandshake(Handler&& handler) {
    tls_->async_handshake(boost::asio::ssl::stream_base::server, std::forward<Handler>(handler));
  }
  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) {
      tls_->async_read_some(buffers, std::forward<Handler>(handler));
    } else {
      socket_.async_read_some(buffers, std::forward<Handler>(handler));
    }
  }
  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) {
      tls_->async_write_some(buffers, std::forward<Handler>(handler));
    } else {
      socket_.async_write_some(buffers, std::forward<Handler>(handler));
    }
  }

 private:
  Socket socket_;
  std::optional<boost::beast::ssl_stream<Socket&>> tls_;
};

}  // namespace ddp

#endif  // DDP_SERVER_GATEWAY_WEB_STREAM_H_
