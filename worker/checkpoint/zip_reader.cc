#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "worker/checkpoint/zip.h"

namespace ddp {

namespace {

constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kCentralSignature = 0x02014b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kLocator64Signature = 0x07064b50;
constexpr size_t kLocalBytes = 30;
constexpr size_t kCentralBytes = 46;
constexpr size_t kEndBytes = 22;
constexpr size_t kEnd64Bytes = 56;
constexpr size_t kLocator64Bytes = 20;
constexpr uint64_t kMaxDirectory = uint64_t{64} << 20;
constexpr uint16_t kZip64Tag = 1;
constexpr uint16_t kEncrypted = 1;

absl::Status Wrong(const std::string& what) { return absl::InvalidArgumentError(what); }

// Little-endian numbers out of bytes that are known to be long enough.
template <typename Number>
Number At(std::string_view bytes, size_t offset) {
  Number number;
  std::memcpy(&number, bytes.data() + offset, sizeof(number));
  return number;
}

absl::StatusOr<std::string> ReadAt(int fd, uint64_t offset, uint64_t bytes) {
  std::string out(bytes, '\0');
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t n = pread(fd, out.data() + done, bytes - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "cannot read");
    if (n == 0) return absl::DataLossError("the file ends early");
    done += static_cast<uint64_t>(n);
  }
  return out;
}

struct Directory {
  uint64_t at = 0;
  uint64_t bytes = 0;
  uint64_t entries = 0;
};

// The end record stands last, before a comment of at most 65,535 bytes.
absl::StatusOr<Directory> FindDirectory(int fd, uint64_t file_bytes) {
  const uint64_t tail_bytes = std::min<uint64_t>(file_bytes, kEndBytes + 0xffff + kLocator64Bytes);
  DDP_ASSIGN_OR_RETURN(const std::string tail, ReadAt(fd, file_bytes - tail_bytes, tail_bytes));
  if (tail.size() < kEndBytes) return Wrong("too short for a zip archive");
  size_t end = tail.size() - kEndBytes;
  while (At<uint32_t>(tail, end) != kEndSignature || At<uint16_t>(tail, end + 20) != tail.size() - end - kEndBytes) {
    if (end == 0) return Wrong("a zip archive without its directory: was the file cut off?");
    --end;
  }
  Directory directory{.at = At<uint32_t>(tail, end + 16),
                      .bytes = At<uint32_t>(tail, end + 12),
                      .entries = At<uint16_t>(tail, end + 10)};
  uint64_t end_at = file_bytes - tail.size() + end;
  if (end >= kLocator64Bytes && At<uint32_t>(tail, end - kLocator64Bytes) == kLocator64Signature) {
    const auto end64_at = At<uint64_t>(tail, end - kLocator64Bytes + 8);
    if (end_at < kLocator64Bytes + kEnd64Bytes || end64_at > end_at - kLocator64Bytes - kEnd64Bytes) {
      return Wrong("the zip64 directory lies outside of the file");
    }
    DDP_ASSIGN_OR_RETURN(const std::string end64, ReadAt(fd, end64_at, kEnd64Bytes));
    if (At<uint32_t>(end64, 0) != kEnd64Signature) return Wrong("no zip64 directory where the archive says");
    if (At<uint32_t>(end64, 16) != 0 || At<uint32_t>(end64, 20) != 0) return Wrong("a split archive");
    directory = {.at = At<uint64_t>(end64, 48), .bytes = At<uint64_t>(end64, 40), .entries = At<uint64_t>(end64, 32)};
    end_at = end64_at;
  } else if (At<uint16_t>(tail, end + 4) != 0 || At<uint16_t>(tail, end + 6) != 0) {
    return Wrong("a split archive");
  }
  if (directory.at > end_at || directory.bytes > end_at - directory.at) {
    return Wrong("the directory lies outside of the file");
  }
  if (directory.bytes > kMaxDirectory) return Wrong("a directory of more than 64 MiB");
  if (directory.entries > directory.bytes / kCentralBytes) return Wrong("more entries than the directory has room for");
  return directory;
}

absl::Status CheckName(const std::string& name) {
  const std::string slashed = "/" + name + "/";
  if (name.empty() || name.front() == '/' || absl::StrContains(slashed, "/../") ||
      name.find('\\') != std::string::npos || name.find('\0') != std::string::npos) {
    return Wrong(absl::StrCat("the entry \"", EscapeControls(name), "\" leads out of the archive; refused"));
  }
  return absl::OkStatus();
}

// Sizes and position that did not fit into 32 bits stand in the extra field, in this order and only those.
absl::Status TakeZip64(std::string_view extra, ZipEntry& entry) {
  while (extra.size() >= 4) {
    const auto tag = At<uint16_t>(extra, 0);
    const auto length = At<uint16_t>(extra, 2);
    extra.remove_prefix(4);
    if (length > extra.size()) return Wrong("an extra field is longer than its place");
    if (tag == kZip64Tag) {
      std::string_view values = extra.substr(0, length);
      for (uint64_t* value : {&entry.bytes, &entry.packed_bytes, &entry.header_at}) {
        if (*value != 0xffffffff) continue;
        if (values.size() < 8) return Wrong("a zip64 field is too short");
        *value = At<uint64_t>(values, 0);
        values.remove_prefix(8);
      }
      return absl::OkStatus();
    }
    extra.remove_prefix(length);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ZipEntry>> ParseDirectory(std::string_view bytes, uint64_t count) {
  std::vector<ZipEntry> entries;
  while (!bytes.empty()) {
    if (bytes.size() < kCentralBytes || At<uint32_t>(bytes, 0) != kCentralSignature)
      return Wrong("a damaged directory");
    const size_t name_bytes = At<uint16_t>(bytes, 28);
    const size_t extra_bytes = At<uint16_t>(bytes, 30);
    const size_t comment_bytes = At<uint16_t>(bytes, 32);
    if (bytes.size() < kCentralBytes + name_bytes + extra_bytes + comment_bytes) return Wrong("a damaged directory");
    ZipEntry entry{.name = std::string(bytes.substr(kCentralBytes, name_bytes)),
                   .crc = At<uint32_t>(bytes, 16),
                   .packed_bytes = At<uint32_t>(bytes, 20),
                   .bytes = At<uint32_t>(bytes, 24),
                   .header_at = At<uint32_t>(bytes, 42)};
    DDP_RETURN_IF_ERROR(CheckName(entry.name));
    const std::string shown = EscapeControls(entry.name);
    if ((At<uint16_t>(bytes, 8) & kEncrypted) != 0) return Wrong(absl::StrCat("the entry ", shown, " is encrypted"));
    const auto method = At<uint16_t>(bytes, 10);
    if (method != 0 && method != Z_DEFLATED) {
      return Wrong(absl::StrCat("the entry ", shown, " is packed by method ", method, "; only deflate is read"));
    }
    entry.deflated = method == Z_DEFLATED;
    DDP_RETURN_IF_ERROR(TakeZip64(bytes.substr(kCentralBytes + name_bytes, extra_bytes), entry));
    if (!entry.deflated && entry.bytes != entry.packed_bytes) {
      return Wrong(absl::StrCat("the entry ", shown, " is stored, but has two sizes"));
    }
    entries.push_back(std::move(entry));
    bytes.remove_prefix(kCentralBytes + name_bytes + extra_bytes + comment_bytes);
  }
  if (entries.size() != count) {
    return Wrong(absl::StrCat("the directory holds ", entries.size(), " entries instead of ", count));
  }
  return entries;
}

// Where the content begins is known only from the header in front of it.
absl::Status TakeLocalHeader(int fd, uint64_t data_end, ZipEntry& entry) {
  const auto wrong = [&](const std::string& what) {
    return Wrong(absl::StrCat("the entry ", EscapeControls(entry.name), " ", what));
  };
  if (entry.header_at > data_end || data_end - entry.header_at < kLocalBytes) return wrong("lies outside of the file");
  DDP_ASSIGN_OR_RETURN(const std::string header, ReadAt(fd, entry.header_at, kLocalBytes));
  if (At<uint32_t>(header, 0) != kLocalSignature) return wrong("has no header where the directory says");
  const uint64_t name_bytes = At<uint16_t>(header, 26);
  const uint64_t extra_bytes = At<uint16_t>(header, 28);
  entry.data_at = entry.header_at + kLocalBytes + name_bytes + extra_bytes;
  if (entry.data_at > data_end || entry.packed_bytes > data_end - entry.data_at)
    return wrong("lies outside of the file");
  DDP_ASSIGN_OR_RETURN(const std::string name, ReadAt(fd, entry.header_at + kLocalBytes, name_bytes));
  if (name != entry.name || At<uint16_t>(header, 8) != (entry.deflated ? Z_DEFLATED : 0)) {
    return wrong("has another name or method in its header");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Inflate(const std::string& packed, uint64_t bytes) {
  std::string out(bytes, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return absl::InternalError("cannot start zlib");
  // zlib counts in 32 bits, so big entries go piece by piece; there is room for exactly `bytes`.
  constexpr uint64_t kPiece = uint64_t{1} << 30;
  uint64_t read = 0;
  uint64_t written = 0;
  int result = Z_OK;
  char none = 0;
  while (result == Z_OK) {
    const auto in = static_cast<uInt>(std::min(kPiece, packed.size() - read));
    const auto room = static_cast<uInt>(std::min(kPiece, bytes - written));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + read));
    stream.avail_in = in;
    stream.next_out = reinterpret_cast<Bytef*>(room > 0 ? out.data() + written : &none);
    stream.avail_out = room;
    result = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += room - stream.avail_out;
  }
  inflateEnd(&stream);
  if (result != Z_STREAM_END || written != bytes || read != packed.size()) {
    return Wrong("does not unpack to the size that the directory says");
  }
  return out;
}

}  // namespace

uint32_t ZipCrc(std::string_view bytes, uint32_t so_far) {
  return static_cast<uint32_t>(crc32_z(so_far, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

absl::StatusOr<ZipReader> ZipReader::Open(int fd) {
  ZipReader zip;
  zip.fd_ = fd;
  struct stat info {};
  if (fstat(fd, &info) != 0) return ErrnoStatus(errno, "cannot look at it");
  zip.file_bytes_ = static_cast<uint64_t>(info.st_size);
  DDP_ASSIGN_OR_RETURN(const Directory directory, FindDirectory(fd, zip.file_bytes_));
  DDP_ASSIGN_OR_RETURN(const std::string bytes, ReadAt(fd, directory.at, directory.bytes));
  DDP_ASSIGN_OR_RETURN(std::vector<ZipEntry> entries, ParseDirectory(bytes, directory.entries));
  std::sort(entries.begin(), entries.end(),
            [](const ZipEntry& a, const ZipEntry& b) { return a.header_at < b.header_at; });
  uint64_t free_from = 0;
  for (ZipEntry& entry : entries) {
    DDP_RETURN_IF_ERROR(TakeLocalHeader(fd, directory.at, entry));
    const std::string shown = EscapeControls(entry.name);
    if (entry.header_at < free_from) return Wrong(absl::StrCat("the entry ", shown, " overlaps another; refused"));
    free_from = entry.data_at + entry.packed_bytes;
    std::string name = entry.name;
    if (!zip.entries_.emplace(std::move(name), std::move(entry)).second) {
      return Wrong(absl::StrCat("the entry ", shown, " stands twice"));
    }
  }
  return zip;
}

const ZipEntry* ZipReader::Find(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

absl::StatusOr<std::string> ZipReader::Read(const ZipEntry& entry, uint64_t max_bytes) const {
  const std::string shown = EscapeControls(entry.name);
  if (entry.bytes > max_bytes || entry.packed_bytes > max_bytes + 1024) {
    return Wrong(absl::StrCat("the entry ", shown, " has ", entry.bytes, " bytes, at most ", max_bytes, " are read"));
  }
  DDP_ASSIGN_OR_RETURN(std::string content, ReadAt(fd_, entry.data_at, entry.packed_bytes));
  if (entry.deflated) {
    // Deflate packs 1032 : 1 at best, so a greater size is a lie that would only take memory.
    if (entry.bytes / 1032 > entry.packed_bytes) return Wrong(absl::StrCat("the entry ", shown, " has a wrong size"));
    absl::StatusOr<std::string> unpacked = Inflate(content, entry.bytes);
    if (!unpacked.ok()) return Wrong(absl::StrCat("the entry ", shown, " ", std::string(unpacked.status().message())));
    content = *std::move(unpacked);
  }
  if (ZipCrc(content) != entry.crc) return Wrong(absl::StrCat("the entry ", shown, " is damaged: its CRC-32 differs"));
  return content;
}

}  // namespace ddp
