// gRPC-Web on the wire: in both directions frames of one byte of flags, four bytes of length (big endian), and a
// message; an answer ends with a frame of trailers.
#ifndef DDP_SERVER_GATEWAY_FRAMES_H_
#define DDP_SERVER_GATEWAY_FRAMES_H_

#include <grpcpp/support/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace ddp {

// As gRPC itself takes them from clients.
inline constexpr size_t kLargestWebMessage = size_t{16} << 20;

// Cuts messages out of a request body that arrives in pieces. Holds at most one message beside what was appended last.
class WebFrameDecoder {
 public:
  void Append(std::string_view bytes) { buffer_.append(bytes); }
  // The next whole message; unset: more bytes are needed. ResourceExhausted for one that is too large, Unimplemented
  // for a compressed one, InvalidArgument for other flags.
  absl::StatusOr<std::optional<std::string>> Next();
  // Nothing is left of a frame that has not ended.
  bool empty() const { return start_ == buffer_.size(); }

 private:
  std::string buffer_;
  size_t start_ = 0;
};

// What stands before a message of that length.
std::string WebFrameHead(uint32_t length);

using WebMetadata = std::vector<std::pair<std::string, std::string>>;

// The last frame: grpc-status, grpc-message (percent-encoded), grpc-status-details-bin and what the server sent
// besides; values of names that end in -bin as base64.
std::string WebTrailersFrame(const grpc::Status& status, const WebMetadata& metadata);

// Of the header grpc-timeout: at most 8 digits and one of H M S m u n. InvalidArgument names it.
absl::StatusOr<absl::Duration> ParseGrpcTimeout(std::string_view text);

}  // namespace ddp

#endif  // DDP_SERVER_GATEWAY_FRAMES_H_
