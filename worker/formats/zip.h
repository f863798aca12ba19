// Zip archives (APPNOTE.TXT 6.3 of PKWARE), as PyTorch, numpy and Python's zipfile write them: stored and deflated
// entries, zip64; no encryption, no split archives.
#ifndef DDP_WORKER_FORMATS_ZIP_H_
#define DDP_WORKER_FORMATS_ZIP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/formats/byte_sink.h"
#include "worker/formats/input_file.h"

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
  // As OpenInput, or InvalidArgument "FILE: byte N: what is wrong".
  static absl::StatusOr<ZipReader> Open(const std::string& path);

  const std::map<std::string, ZipEntry>& entries() const { return entries_; }
  uint64_t file_bytes() const { return file_.size; }
  // Null: no entry of that name.
  const ZipEntry* Find(const std::string& name) const;
  // The whole content. InvalidArgument when it is longer than max_bytes, does not unpack to the size that the directory
  // says, or has another CRC-32. Memory grows with what the file really holds, not with what it says.
  absl::StatusOr<std::string> Read(const ZipEntry& entry, uint64_t max_bytes) const;
  // Only the first max_bytes, or all there is; unchecked as long as there is more.
  absl::StatusOr<std::string> ReadHead(const ZipEntry& entry, uint64_t max_bytes) const;

 private:
  struct Directory {
    uint64_t at = 0;
    uint64_t bytes = 0;
    uint64_t entries = 0;
    uint64_t end_at = 0;  // where the records behind it begin
  };

  absl::Status Wrong(uint64_t at, const std::string& what) const;
  absl::StatusOr<std::string> Bytes(uint64_t at, uint64_t bytes) const;
  absl::StatusOr<Directory> FindDirectory() const;
  absl::StatusOr<Directory> FollowLocator64(uint64_t locator_at, uint64_t end64_at) const;
  absl::StatusOr<std::vector<ZipEntry>> ParseDirectory(const Directory& directory) const;
  absl::Status TakeLocalHeader(uint64_t data_end, ZipEntry& entry) const;
  absl::StatusOr<std::string> Inflate(const ZipEntry& entry, uint64_t wanted) const;

  std::string path_;
  OpenFile file_;
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

#endif  // DDP_WORKER_FORMATS_ZIP_H_
