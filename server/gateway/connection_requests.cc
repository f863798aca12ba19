// Heads of requests: what is refused, and answers that are whole at once.
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http.hpp>
#include <limits>
#include <utility>

#include "common/bearer.h"
#include "server/gateway/web_connection.h"

namespace ddp {

namespace {
constexpr char kBearer[] = "Bearer realm=\"ddpd\"";
}  // namespace

void WebConnection::ReadHead() {
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

std::optional<std::string_view> WebConnection::Header(std::string_view name) const {
  const auto [first, last] = request().equal_range(beast::string_view(name.data(), name.size()));
  if (first == last || std::next(first) != last) return std::nullopt;
  return std::string_view(first->value().data(), first->value().size());
}

void WebConnection::Dispatch() {
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

void WebConnection::RespondMetrics(bool head) {
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

void WebConnection::RespondAsset(std::string_view path, bool head) {
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

void WebConnection::Refuse(int status, std::string text) {
  keep_alive_ = false;
  Respond(TextResponse(status, std::move(text)), false);
}

void WebConnection::Respond(WebResponse response, bool head) {
  keep_alive_ = keep_alive_ && parser_->is_done();
  response_ = std::move(response);
  out_text_ = ResponseHead(response_, keep_alive_);
  out_ = {net::buffer(out_text_)};
  if (!head && !response_.body().empty()) out_.push_back(net::buffer(response_.body().data(), response_.body().size()));
  Send([self = Self()] { self->EndAnswer(); });
}

}  // namespace ddp
