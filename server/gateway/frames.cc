#include "server/gateway/frames.h"

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace ddp {

namespace {

constexpr size_t kHeadBytes = 5;
constexpr unsigned char kCompressed = 0x01;
constexpr unsigned char kTrailers = 0x80;
constexpr size_t kKeepBytes = size_t{64} << 10;

std::string Head(unsigned char flags, uint32_t length) {
  return {static_cast<char>(flags), static_cast<char>(length >> 24), static_cast<char>(length >> 16),
          static_cast<char>(length >> 8), static_cast<char>(length)};
}

std::string PercentEncode(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c >= ' ' && c <= '~' && c != '%') {
      result += c;
    } else {
      absl::StrAppend(&result, "%", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
  }
  return result;
}

std::string Base64(const std::string& bytes) {
  std::string text = absl::Base64Escape(bytes);
  text.erase(text.find_last_not_of('=') + 1);  // gRPC sends no padding
  return text;
}

void AddTrailer(std::string* block, const std::string& name, const std::string& value) {
  const bool binary = name.size() > 4 && name.compare(name.size() - 4, 4, "-bin") == 0;
  absl::StrAppend(block, name, ":", binary ? Base64(value) : value, "\r\n");
}

}  // namespace

absl::StatusOr<std::optional<std::string>> WebFrameDecoder::Next() {
  if (buffer_.size() - start_ < kHeadBytes) return std::nullopt;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(buffer_[start_ + i]); };
  const unsigned char flags = byte(0);
  if (flags == kCompressed) {
    return absl::UnimplementedError("the message is compressed; send it without grpc-encoding");
  }
  if (flags != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a gRPC-Web frame of a request must have the flags 0, got ", static_cast<int>(flags)));
  }
  const size_t length = size_t{byte(1)} << 24 | size_t{byte(2)} << 16 | size_t{byte(3)} << 8 | byte(4);
  if (length > kLargestWebMessage) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a message of ", length, " bytes is too large; the limit is ", kLargestWebMessage));
  }
  if (buffer_.size() - start_ - kHeadBytes < length) return std::nullopt;
  std::string message = buffer_.substr(start_ + kHeadBytes, length);
  start_ += kHeadBytes + length;
  if (start_ == buffer_.size()) {
    buffer_.clear();
    if (buffer_.capacity() > kKeepBytes) buffer_.shrink_to_fit();
    start_ = 0;
  } else if (start_ > kKeepBytes) {
    buffer_.erase(0, start_);
    start_ = 0;
  }
  return message;
}

std::string WebFrameHead(uint32_t length) { return Head(0, length); }

std::string WebTrailersFrame(const grpc::Status& status, const WebMetadata& metadata) {
  std::string block;
  AddTrailer(&block, "grpc-status", absl::StrCat(static_cast<int>(status.error_code())));
  if (!status.error_message().empty()) AddTrailer(&block, "grpc-message", PercentEncode(status.error_message()));
  if (!status.error_details().empty()) AddTrailer(&block, "grpc-status-details-bin", status.error_details());
  for (const auto& [name, value] : metadata) AddTrailer(&block, name, value);
  return Head(kTrailers, static_cast<uint32_t>(block.size())) + block;
}

absl::StatusOr<absl::Duration> ParseGrpcTimeout(std::string_view text) {
  const auto wrong = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("grpc-timeout must be 1 to 8 digits and one of H M S m u n, got \"", EscapeControls(text), "\""));
  };
  if (text.size() < 2 || text.size() > 9) return wrong();
  int64_t number = 0;
  for (const char c : text.substr(0, text.size() - 1)) {
    if (c < '0' || c > '9') return wrong();
    number = number * 10 + (c - '0');
  }
  switch (text.back()) {
    case 'H':
      return absl::Hours(number);
    case 'M':
      return absl::Minutes(number);
    case 'S':
      return absl::Seconds(number);
    case 'm':
      return absl::Milliseconds(number);
    case 'u':
      return absl::Microseconds(number);
    case 'n':
      return absl::Nanoseconds(number);
    default:
      return wrong();
  }
}

}  // namespace ddp
