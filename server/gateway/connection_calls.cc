// gRPC-Web: the body of a POST into a call, what the call answers into the body of the answer.
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <utility>

#include "common/bearer.h"
#include "server/gateway/web_connection.h"

namespace ddp {

namespace {

constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";

grpc::Status ToGrpcStatus(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

bool IsGrpcWeb(std::string_view content_type) {
  content_type = content_type.substr(0, content_type.find(';'));
  return content_type == "application/grpc-web" || content_type == "application/grpc-web+proto";
}

}  // namespace

void WebConnection::DispatchCall(const std::string& path) {
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

void WebConnection::RespondStatus(const absl::Status& status) {
  Respond({.headers = {{"Content-Type", "application/grpc-web+proto"}, {"Cache-Control", "no-store"}},
           .text = WebTrailersFrame(ToGrpcStatus(status), {})},
          false);
}

void WebConnection::StartCall(const WebMethod& method, const std::string& authorization, absl::Duration timeout) {
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

void WebConnection::PumpRequest() {
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

void WebConnection::ReadBody() {
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

void WebConnection::WatchForHangUp() {
  if (reading_ || buffer_.size() > 0) return;
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

void WebConnection::FailCall(const absl::Status& status) {
  if (override_.ok()) override_ = status;
  call_->Cancel();
}

void WebConnection::OnMessage(const grpc::ByteBuffer& message) {
  if (closed_) return;
  message_.emplace();
  if (!message.Dump(&*message_).ok()) {
    FailCall(absl::InternalError("a message of the answer cannot be read"));
    return;
  }
  Flush();
}

void WebConnection::OnCallDone(const grpc::Status& status, const WebMetadata& metadata) {
  call_.reset();
  if (closed_) return;
  trailers_ = override_.ok() ? WebTrailersFrame(status, metadata) : WebTrailersFrame(ToGrpcStatus(override_), {});
  Flush();
}

void WebConnection::Flush() {
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

}  // namespace ddp
