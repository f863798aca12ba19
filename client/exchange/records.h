// The records of TensorBoard's event files: uint64 length, masked CRC of the length, data, masked CRC of the data; all
// little-endian.
#ifndef DDP_CLIENT_EXCHANGE_RECORDS_H_
#define DDP_CLIENT_EXCHANGE_RECORDS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace ddp {

// CRC-32C (Castagnoli), rotated and shifted as in TFRecord.
uint32_t MaskedCrc(std::string_view bytes);

// One record.
std::string Record(std::string_view data);

// Not thread-safe.
class RecordReader {
 public:
  // Fills the buffer with up to `size` of the next bytes: how many; 0: there are none (now).
  using Source = std::function<absl::StatusOr<size_t>(char* buffer, size_t size)>;
  enum class Found {
    kRecord,
    kDamaged,   // its data does not fit its checksum; the next record may be whole
    kTooLarge,  // more than kLargestRecord; passed over
    kEnd,
    kTorn,  // the end, inside of a record: its writer is not done, or has died
  };
  static constexpr uint64_t kLargestRecord = uint64_t{64} << 20;

  explicit RecordReader(Source source) : source_(std::move(source)) {}

  // The next record's data. Needs no more memory than the record, whatever length a damaged file claims.
  // DataLoss: the checksum of a length is wrong, so that nobody knows where the next record begins.
  absl::StatusOr<Found> Next(std::string& data);
  // Bytes of whole records so far.
  uint64_t offset() const { return offset_; }

 private:
  // Reads exactly `size` bytes, or up to the end; appends them, unless `data` is null.
  absl::StatusOr<uint64_t> Take(uint64_t size, std::string* data);

  const Source source_;
  std::string buffer_;
  size_t used_ = 0;  // of buffer_
  uint64_t offset_ = 0;
};

}  // namespace ddp

#endif  // DDP_CLIENT_EXCHANGE_RECORDS_H_
