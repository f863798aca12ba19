// Zip archives, as far as PyTorch's .pt files need them (APPNOTE.TXT 6.3 of PKWARE): stored and deflated entries,
// zip64; no encryption, no split archives.
#ifndef DDP_WORKER_CHECKPOINT_ZIP_H_
#define DDP_WORKER_CHECKPOINT_ZIP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files.h"
#include "worker/checkpoint/byte_sink.h"

namespace ddp {

struct ZipEntry {
  std::string name;
  bool deflated = false;
  uint32_t crc = 0;
  uint64_t packed_bytes = 0;  // in the archive
  uint64_t bytes = 0;         // of the content
  uint64_t header_at = 0;
  uint64_t data_at = 0;
};

// The directory of an archive, checked completely: every entry lies inside of the file, none overlaps another, names
// are relative, without ".." and different from each other. Thread-safe after Open.
class ZipReader {
 public:
  // A regular file. InvalidArgument says what is wrong, without the file's name.
  static absl::StatusOr<ZipReader> Open(int fd);

  const std::map<std::string, ZipEntry>& entries() const { return entries_; }
  uint64_t file_bytes() const { return file_bytes_; }
  // Null: no entry of that name.
  const ZipEntry* Find(const std::string& name) const;
  // The whole content. InvalidArgument when it is longer than max_bytes, does not unpack to the size that the directory
  // says, or has another CRC-32.
  absl::StatusOr<std::string> Read(const ZipEntry& entry, uint64_t max_bytes) const;

 private:
  int fd_ = -1;  // borrowed
  uint64_t file_bytes_ = 0;
  std::map<std::string, ZipEntry> entries_;
};

// CRC-32 of what zip calls so; goes on from an earlier one.
uint32_t ZipCrc(std::string_view bytes, uint32_t so_far = 0);

// Writes stored entries whose content begins at multiples of 64, as PyTorch does.
class ZipWriter {
 public:
  // zip64_from: sizes and positions from here on are written in 64 bits. Tests set it low.
  explicit ZipWriter(ByteSink& sink, uint64_t zip64_from = 0xffffffff) : sink_(sink), zip64_from_(zip64_from) {}

  // Begins an entry; exactly `bytes` bytes with that CRC must then be given to Append.
  absl::Status Begin(const std::string& name, uint64_t bytes, uint32_t crc);
  absl::Status Append(std::string_view bytes);
  // A whole entry.
  absl::Status Add(const std::string& name, std::string_view content);
  // The directory; nothing may follow.
  absl::Status Finish();

 private:
  ByteSink& sink_;
  const uint64_t zip64_from_;
  uint64_t at_ = 0;
  std::vector<ZipEntry> entries_;
};

}  // namespace ddp

#endif  // DDP_WORKER_CHECKPOINT_ZIP_H_
