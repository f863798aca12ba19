#include "server/gateway/connection.h"

#include <boost/asio/socket_base.hpp>
#include <utility>

#include "server/gateway/web_connection.h"

namespace ddp {

using boost::asio::ip::tcp;

void WebConnection::Begin() {
  if (!stream_.encrypted()) {
    ReadHead();
    return;
  }
  Arm(server_.limits.idle);
  stream_.AsyncHandshake([self = Self()](error_code error) {
    if (error) {
      self->Close();
    } else {
      self->ReadHead();
    }
  });
}

void WebConnection::Stop() {
  stopping_ = true;
  if (call_ == nullptr) {
    Close();
  } else {
    FailCall(absl::UnavailableError("the daemon stops; running jobs go on, ask again soon"));
  }
}

void WebConnection::Close() {
  if (std::exchange(closed_, true)) return;
  deadline_.cancel();
  error_code ignored;
  stream_.socket().close(ignored);
  if (call_ != nullptr) call_->Cancel();
}

void WebConnection::Arm(std::chrono::milliseconds after) {
  deadline_.expires_after(after);
  deadline_.async_wait([weak = this->weak_from_this()](error_code error) {
    if (error) return;
    if (const std::shared_ptr<WebConnection> self = weak.lock()) self->Close();
  });
}

void WebConnection::Send(std::function<void()> then) {
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

void WebConnection::EndAnswer() {
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

void WebConnection::Linger() {
  lingering_ = true;
  error_code ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  Arm(server_.limits.transfer);
  if (!reading_) ReadAway();
}

void WebConnection::ReadAway() {
  stream_.async_read_some(net::buffer(read_), [self = Self()](error_code error, size_t) {
    if (self->closed_) return;
    if (error) {
      self->Close();
    } else {
      self->ReadAway();
    }
  });
}

void Connection::Serve(tcp::socket socket, WebServer& server) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(net::socket_base::keep_alive(true), ignored);
  std::make_shared<WebConnection>(server, std::move(socket))->Begin();
}

}  // namespace ddp
