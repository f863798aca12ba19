#include "client/exchange/records.h"

#include <gtest/gtest.h>

namespace ddp {
namespace {

RecordReader Of(std::string bytes, size_t piece = 7) {
  return RecordReader([bytes = std::move(bytes), at = size_t{0}, piece](char* buffer, size_t size) mutable {
    const size_t n = std::min({piece, size, bytes.size() - at});
    bytes.copy(buffer, n, at);
    at += n;
    return absl::StatusOr<size_t>(n);
  });
}

using Found = RecordReader::Found;

TEST(RecordsTest, TheChecksumOfTensorBoardsOwnTest) {
  // CRC-32C of "123456789" is 0xE3069283 (RFC 3720): rotated right by 15 it is 0x2507C60D; + 0xA282EAD8.
  EXPECT_EQ(MaskedCrc("123456789"), 0xC78AB0E5U);
  // The length of TensorBoard's first record ("brain.Event:2": 24 bytes), as its files have it.
  EXPECT_EQ(Record(std::string(24, 'x')).substr(0, 12), std::string("\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22", 12));
}

TEST(RecordsTest, RoundTripInPieces) {
  const std::string bytes = Record("") + Record("one") + Record(std::string(1000, 'y'));
  for (const size_t piece : {1, 5, 4096}) {
    RecordReader reader = Of(bytes, piece);
    std::string data;
    EXPECT_EQ(*reader.Next(data), Found::kRecord);
    EXPECT_EQ(data, "");
    EXPECT_EQ(*reader.Next(data), Found::kRecord);
    EXPECT_EQ(data, "one");
    EXPECT_EQ(*reader.Next(data), Found::kRecord);
    EXPECT_EQ(data, std::string(1000, 'y'));
    EXPECT_EQ(*reader.Next(data), Found::kEnd);
    EXPECT_EQ(reader.offset(), bytes.size());
  }
}

TEST(RecordsTest, ATornTailIsTheEnd) {
  const std::string whole = Record("first");
  const std::string torn = Record("second");
  for (size_t length = 1; length < torn.size(); ++length) {
    RecordReader reader = Of(whole + torn.substr(0, length));
    std::string data;
    EXPECT_EQ(*reader.Next(data), Found::kRecord);
    EXPECT_EQ(*reader.Next(data), Found::kTorn) << length;
  }
}

TEST(RecordsTest, WrongDataCostsOneRecordAWrongLengthTheRest) {
  const std::string first = Record("first"), second = Record("second"), third = Record("third");
  std::string damaged = first + second + third;
  damaged[first.size() + 13] ^= 1;
  RecordReader reader = Of(damaged);
  std::string data;
  EXPECT_EQ(*reader.Next(data), Found::kRecord);
  EXPECT_EQ(*reader.Next(data), Found::kDamaged);
  EXPECT_EQ(*reader.Next(data), Found::kRecord);
  EXPECT_EQ(data, "third");

  damaged = first + second + third;
  damaged[first.size()] ^= 1;
  RecordReader lost = Of(damaged);
  EXPECT_EQ(*lost.Next(data), Found::kRecord);
  const auto found = lost.Next(data);
  EXPECT_EQ(found.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(found.status().message(), "byte 21: the checksum of a record's length is wrong");
}

TEST(RecordsTest, ALengthThatIsALieNeedsNoMemory) {
  std::string length(8, '\0');
  length[6] = 1;  // 2^48
  const uint32_t crc = MaskedCrc(length);
  for (int i = 0; i < 4; ++i) length += static_cast<char>(crc >> (8 * i) & 0xFF);
  RecordReader reader = Of(length + "few");
  std::string data;
  EXPECT_EQ(*reader.Next(data), Found::kTorn);
  EXPECT_EQ(data, "");
}

}  // namespace
}  // namespace ddp
