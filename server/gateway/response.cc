#include "server/gateway/response.h"

#include "absl/strings/str_cat.h"

namespace ddp {

namespace {

// Nothing but our own files runs, and nobody frames the page. Blobs are what the page itself makes (downloads,
// pictures).
constexpr char kCommonHeaders[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

const char* Reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Error";
  }
}

std::string Begin(int status, bool keep_alive) {
  return absl::StrCat("HTTP/1.1 ", status, " ", Reason(status), "\r\n", kCommonHeaders,
                      keep_alive ? "" : "Connection: close\r\n");
}

}  // namespace

WebResponse TextResponse(int status, std::string text) {
  return {.status = status,
          .headers = {{"Content-Type", "text/plain; charset=utf-8"}, {"Cache-Control", "no-store"}},
          .text = std::move(text) + "\n"};
}

std::string ResponseHead(const WebResponse& response, bool keep_alive) {
  std::string head = Begin(response.status, keep_alive);
  for (const auto& [name, value] : response.headers) absl::StrAppend(&head, name, ": ", value, "\r\n");
  // A 304 has no body, and says nothing about the length of what it stands for.
  if (response.status != 304) absl::StrAppend(&head, "Content-Length: ", response.body().size(), "\r\n");
  return head + "\r\n";
}

std::string StreamHead(bool keep_alive) {
  return Begin(200, keep_alive) +
         "Content-Type: application/grpc-web+proto\r\n"
         "Cache-Control: no-store\r\n"
         "X-Accel-Buffering: no\r\n"  // proxies pass each message on at once
         "Transfer-Encoding: chunked\r\n\r\n";
}

std::string ChunkHead(size_t bytes) { return absl::StrCat(absl::Hex(bytes), "\r\n"); }

}  // namespace ddp
