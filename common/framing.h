// Length-prefixed messages on a stream descriptor: uint32 little-endian length, then the bytes (a serialized protobuf).
#ifndef DDP_COMMON_FRAMING_H_
#define DDP_COMMON_FRAMING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ddp {

inline constexpr uint32_t kMaxFrameBytes = 64u << 20;

std::string EncodeFrame(std::string_view message);
// Blocking write of one frame (with poll when the descriptor is non-blocking).
absl::Status WriteFrame(int fd, std::string_view message);
// Blocking read of one frame. Unset at a clean end of the stream; DataLoss when it ends inside a frame.
absl::StatusOr<std::optional<std::string>> ReadFrame(int fd);

// Cuts frames out of bytes that arrive in pieces.
class FrameDecoder {
 public:
  void Append(std::string_view bytes);
  // The next whole frame; unset: more bytes are needed. InvalidArgument for a length above kMaxFrameBytes.
  absl::StatusOr<std::optional<std::string>> Next();

 private:
  std::string buffer_;
  size_t start_ = 0;
};

}  // namespace ddp

#endif  // DDP_COMMON_FRAMING_H_
