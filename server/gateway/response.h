// Heads of HTTP answers, as text.
#ifndef DDP_SERVER_GATEWAY_RESPONSE_H_
#define DDP_SERVER_GATEWAY_RESPONSE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddp {

// A whole answer.
struct WebResponse {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string text;        // the body...
  std::string_view fixed;  // ...or one that outlives every answer
  std::string_view body() const { return text.empty() ? fixed : std::string_view(text); }
};

// An error in plain text.
WebResponse TextResponse(int status, std::string text);

// The status line and headers up to the empty line, with those that every answer carries (SECURITY.md says why).
std::string ResponseHead(const WebResponse& response, bool keep_alive);

// The head of a gRPC-Web answer, whose frames follow as chunks.
std::string StreamHead(bool keep_alive);

// One chunk's first line.
std::string ChunkHead(size_t bytes);
inline constexpr char kChunkEnd[] = "\r\n";
inline constexpr char kLastChunk[] = "0\r\n\r\n";

}  // namespace ddp

#endif  // DDP_SERVER_GATEWAY_RESPONSE_H_
