// Reading zip archives (PKWARE's APPNOTE), as numpy and Python's zipfile write them: stored or deflated members, zip64.
#ifndef DDP_WORKER_FORMATS_ZIP_H_
#define DDP_WORKER_FORMATS_ZIP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files.h"

namespace ddp {

struct ZipMember {
  std::string name;
  uint64_t size = 0;  // unpacked
  uint64_t packed = 0;
  uint64_t header = 0;  // byte of its local header
  uint32_t crc = 0;
  uint16_t method = 0;  // 0: stored, 8: deflated
};

// The directory at the end of an archive, checked completely: every member lies in the file, no name stands twice, none
// is encrypted or packed by another method. Thread-safe after Open.
class ZipFile {
 public:
  // NotFound, or InvalidArgument "FILE: byte N: what is wrong".
  static absl::StatusOr<ZipFile> Open(const std::string& path);

  const std::vector<ZipMember>& members() const { return members_; }  // in the order of the directory
  // Null: no member of that name.
  const ZipMember* Find(const std::string& name) const;
  // The unpacked content, of exactly member.size bytes and the right checksum; or only its first max_bytes, unchecked.
  // Memory grows with what the file really holds, not with what it says.
  absl::StatusOr<std::string> Read(const ZipMember& member, uint64_t max_bytes = ~uint64_t{0}) const;

 private:
  struct Directory {
    uint64_t begin = 0;
    uint64_t bytes = 0;
    uint64_t members = 0;
  };

  absl::Status Wrong(uint64_t at, const std::string& what) const;
  absl::StatusOr<std::string> ReadAt(uint64_t at, uint64_t bytes) const;
  absl::StatusOr<Directory> FindDirectory() const;
  absl::StatusOr<Directory> ReadZip64(uint64_t locator) const;
  absl::Status ReadDirectory(const Directory& directory);
  absl::StatusOr<std::string> Inflate(const ZipMember& member, uint64_t data, uint64_t wanted) const;

  std::string path_;
  UniqueFd fd_;
  uint64_t size_ = 0;
  std::vector<ZipMember> members_;
};

}  // namespace ddp

#endif  // DDP_WORKER_FORMATS_ZIP_H_
