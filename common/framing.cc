#include "common/framing.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/status_macros.h"

namespace ddp {
namespace {

constexpr size_t kHeaderBytes = 4;

std::string EncodeLength(size_t size) {
  std::string header(kHeaderBytes, '\0');
  for (size_t i = 0; i < kHeaderBytes; ++i) header[i] = static_cast<char>((size >> (8 * i)) & 0xFF);
  return header;
}

uint32_t DecodeLength(std::string_view header) {
  uint32_t length = 0;
  for (size_t i = 0; i < kHeaderBytes; ++i) {
    length |= uint32_t{static_cast<unsigned char>(header[i])} << (8 * i);
  }
  return length;
}

absl::Status TooLong(size_t length) {
  return absl::InvalidArgumentError(
      absl::StrCat("frame of ", length, " bytes: at most ", kMaxFrameBytes, " are allowed"));
}

// Reads until `out` is full; returns how much came before the end of the stream.
absl::StatusOr<size_t> ReadFull(int fd, char* out, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = read(fd, out + done, size - done);
    if (n == 0) break;
    if (n > 0) {
      done += static_cast<size_t>(n);
    } else if (errno == EAGAIN) {
      pollfd wait{fd, POLLIN, 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return ErrnoStatus(errno, "cannot read a frame");
    }
  }
  return done;
}

}  // namespace

std::string EncodeFrame(std::string_view message) {
  std::string frame = EncodeLength(message.size());
  frame.append(message);
  return frame;
}

absl::Status WriteFrame(int fd, std::string_view message) {
  if (message.size() > kMaxFrameBytes) return TooLong(message.size());
  return WriteAll(fd, EncodeFrame(message));
}

absl::StatusOr<std::optional<std::string>> ReadFrame(int fd) {
  std::array<char, kHeaderBytes> header{};
  DDP_ASSIGN_OR_RETURN(const size_t header_read, ReadFull(fd, header.data(), header.size()));
  if (header_read == 0) return std::nullopt;
  if (header_read < header.size()) return absl::DataLossError("the stream ended inside a frame's length");
  const uint32_t length = DecodeLength({header.data(), header.size()});
  if (length > kMaxFrameBytes) return TooLong(length);
  std::string message(length, '\0');
  DDP_ASSIGN_OR_RETURN(const size_t body_read, ReadFull(fd, message.data(), length));
  if (body_read < length) {
    return absl::DataLossError(absl::StrCat("the stream ended after ", body_read, " of a frame's ", length, " bytes"));
  }
  return message;
}

void FrameDecoder::Append(std::string_view bytes) {
  if (start_ > 0) {
    buffer_.erase(0, start_);
    start_ = 0;
  }
  buffer_.append(bytes);
}

absl::StatusOr<std::optional<std::string>> FrameDecoder::Next() {
  const std::string_view rest = std::string_view(buffer_).substr(start_);
  if (rest.size() < kHeaderBytes) return std::nullopt;
  const uint32_t length = DecodeLength(rest);
  if (length > kMaxFrameBytes) return TooLong(length);
  if (rest.size() - kHeaderBytes < length) return std::nullopt;
  start_ += kHeaderBytes + length;
  return std::string(rest.substr(kHeaderBytes, length));
}

}  // namespace ddp
