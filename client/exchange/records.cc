#include "client/exchange/records.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ddp {

namespace {

constexpr size_t kPiece = size_t{256} << 10;

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kTable = MakeTable();

std::string LittleEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xFF);
  return text;
}

uint64_t FromLittleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

}  // namespace

uint32_t MaskedCrc(std::string_view bytes) {
  uint32_t crc = 0xFFFFFFFFU;
  for (const char byte : bytes) crc = kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xFF] ^ (crc >> 8);
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xA282EAD8U;
}

std::string Record(std::string_view data) {
  const std::string length = LittleEndian(data.size(), 8);
  std::string record = length + LittleEndian(MaskedCrc(length), 4);
  record += data;
  return record + LittleEndian(MaskedCrc(data), 4);
}

absl::StatusOr<uint64_t> RecordReader::Take(uint64_t size, std::string* data) {
  uint64_t taken = 0;
  while (taken < size) {
    if (used_ == buffer_.size()) {
      buffer_.resize(kPiece);
      used_ = 0;
      auto n = source_(buffer_.data(), buffer_.size());
      buffer_.resize(n.ok() ? *n : 0);
      if (!n.ok()) return n.status();
      if (*n == 0) break;
    }
    const auto piece = static_cast<size_t>(std::min<uint64_t>(size - taken, buffer_.size() - used_));
    if (data != nullptr) data->append(buffer_, used_, piece);
    used_ += piece;
    taken += piece;
  }
  return taken;
}

absl::StatusOr<RecordReader::Found> RecordReader::Next(std::string& data) {
  data.clear();
  std::string head;
  DDP_ASSIGN_OR_RETURN(const uint64_t got, Take(12, &head));
  if (got == 0) return Found::kEnd;
  if (got < 12) return Found::kTorn;
  const std::string_view length_bytes = std::string_view(head).substr(0, 8);
  if (FromLittleEndian(std::string_view(head).substr(8)) != MaskedCrc(length_bytes)) {
    return absl::DataLossError(absl::StrCat("byte ", offset_, ": the checksum of a record's length is wrong"));
  }
  const uint64_t length = FromLittleEndian(length_bytes);
  const bool keep = length <= kLargestRecord;
  DDP_ASSIGN_OR_RETURN(const uint64_t body, Take(length, keep ? &data : nullptr));
  std::string tail;
  DDP_ASSIGN_OR_RETURN(const uint64_t end, Take(4, &tail));
  if (body < length || end < 4) return Found::kTorn;
  offset_ += 16 + length;
  if (!keep) return Found::kTooLarge;
  return FromLittleEndian(tail) == MaskedCrc(data) ? Found::kRecord : Found::kDamaged;
}

}  // namespace ddp
