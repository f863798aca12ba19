// The event files of others: records, events, and what becomes of them.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "client/exchange/event_reader.h"
#include "client/exchange/records.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  // A mutation seldom has the right checksum: the bytes are read as a file, and as the data of one record.
  size_t at = 0;
  ddp::RecordReader reader([&](char* buffer, size_t room) -> absl::StatusOr<size_t> {
    const size_t n = std::min(room, bytes.size() - at);
    bytes.copy(buffer, n, at);
    at += n;
    return n;
  });
  ddp::EventDecoder decoder;
  std::vector<ddp::EventPoint> points;
  std::string record;
  for (auto found = reader.Next(record);
       found.ok() && *found != ddp::RecordReader::Found::kEnd && *found != ddp::RecordReader::Found::kTorn;
       found = reader.Next(record)) {
    if (record.size() > size) std::abort();
    decoder.Decode(record, points).IgnoreError();
  }
  decoder.Decode(bytes, points).IgnoreError();
  for (const ddp::EventPoint& point : points) {
    if (const auto* histogram = std::get_if<ddp::v1::Histogram>(&point.value)) {
      if (histogram->counts_size() != 64) std::abort();
      for (const int64_t count : histogram->counts()) {
        if (count < 0) std::abort();
      }
    }
  }
  return 0;
}
