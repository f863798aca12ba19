#include "worker/formats/zip.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace ddp {

namespace {

constexpr uint64_t kEndBytes = 22;
constexpr uint64_t kMaxComment = 65535;
constexpr uint64_t kLocalBytes = 30;
constexpr uint64_t kCentralBytes = 46;
constexpr uint64_t kMaxDirectory = uint64_t{1} << 28;
constexpr uint32_t kIs64 = 0xFFFFFFFF;  // the true value is in the zip64 field

uint64_t Number(std::string_view bytes, size_t at, size_t width) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, width);  // little-endian, as every machine that we build for
  return value;
}

// Sizes that did not fit into 32 bits, in this order, from the extra field with the id 1.
bool TakeZip64(std::string_view extra, ZipMember* member) {
  const bool size = member->size == kIs64;
  const bool packed = member->packed == kIs64;
  const bool header = member->header == kIs64;
  if (!size && !packed && !header) return true;
  while (extra.size() >= 4) {
    const uint64_t id = Number(extra, 0, 2);
    const uint64_t bytes = Number(extra, 2, 2);
    if (bytes > extra.size() - 4) return false;
    if (id != 1) {
      extra.remove_prefix(4 + bytes);
      continue;
    }
    std::string_view field = extra.substr(4, bytes);
    for (const auto& [needed, value] :
         {std::pair{size, &member->size}, std::pair{packed, &member->packed}, std::pair{header, &member->header}}) {
      if (!needed) continue;
      if (field.size() < 8) return false;
      *value = Number(field, 0, 8);
      field.remove_prefix(8);
    }
    return true;
  }
  return false;
}

}  // namespace

absl::Status ZipFile::Wrong(uint64_t at, const std::string& what) const {
  return absl::InvalidArgumentError(absl::StrCat(path_, ": byte ", at, ": ", what));
}

absl::StatusOr<std::string> ZipFile::ReadAt(uint64_t at, uint64_t bytes) const {
  if (at > size_ || bytes > size_ - at) return Wrong(size_, "the archive ends early");
  std::string content(bytes, '\0');
  uint64_t have = 0;
  while (have < bytes) {
    const ssize_t n = pread(fd_.get(), content.data() + have, bytes - have, static_cast<off_t>(at + have));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("cannot read ", path_));
    if (n == 0) return absl::DataLossError(absl::StrCat(path_, " became shorter while it was read"));
    have += static_cast<uint64_t>(n);
  }
  return content;
}

absl::StatusOr<ZipFile> ZipFile::Open(const std::string& path) {
  ZipFile zip;
  zip.path_ = path;
  zip.fd_ = UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!zip.fd_.valid()) return ErrnoStatus(errno, absl::StrCat("cannot open ", path));
  struct stat info {};
  if (fstat(zip.fd_.get(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("cannot look at ", path));
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file"));
  zip.size_ = static_cast<uint64_t>(info.st_size);
  DDP_ASSIGN_OR_RETURN(const Directory directory, zip.FindDirectory());
  DDP_RETURN_IF_ERROR(zip.ReadDirectory(directory));
  return zip;
}

// The record at the very end; only a comment may follow it.
absl::StatusOr<ZipFile::Directory> ZipFile::FindDirectory() const {
  const uint64_t tail_bytes = std::min(size_, kEndBytes + kMaxComment);
  DDP_ASSIGN_OR_RETURN(const std::string tail, ReadAt(size_ - tail_bytes, tail_bytes));
  for (size_t at = tail.size() < kEndBytes ? 0 : tail.size() - kEndBytes + 1; at-- > 0;) {
    if (tail.compare(at, 4, "PK\5\6", 4) != 0 || Number(tail, at + 20, 2) != tail.size() - at - kEndBytes) continue;
    const uint64_t end = size_ - tail_bytes + at;
    Directory directory{
        .begin = Number(tail, at + 16, 4), .bytes = Number(tail, at + 12, 4), .members = Number(tail, at + 10, 2)};
    if (Number(tail, at + 4, 4) != 0) return Wrong(end + 4, "an archive in several parts");
    if (directory.begin == kIs64 || directory.bytes == kIs64 || directory.members == 0xFFFF) {
      if (end < 20) return Wrong(end, "no zip64 record in front of the end record");
      DDP_ASSIGN_OR_RETURN(directory, ReadZip64(end - 20));
    }
    if (directory.begin > end || directory.bytes > end - directory.begin) {
      return Wrong(end, absl::StrCat("the directory of ", directory.bytes, " bytes at ", directory.begin,
                                     " does not lie in the archive"));
    }
    if (directory.bytes > kMaxDirectory) return Wrong(end, "the directory is too large");
    return directory;
  }
  return Wrong(size_, "no zip archive: the end record is missing (is the file complete?)");
}

absl::StatusOr<ZipFile::Directory> ZipFile::ReadZip64(uint64_t locator) const {
  DDP_ASSIGN_OR_RETURN(const std::string pointer, ReadAt(locator, 20));
  if (pointer.compare(0, 4, "PK\6\7", 4) != 0) return Wrong(locator, "the zip64 locator is missing");
  const uint64_t at = Number(pointer, 8, 8);
  DDP_ASSIGN_OR_RETURN(const std::string record, ReadAt(at, 56));
  if (record.compare(0, 4, "PK\6\6", 4) != 0) return Wrong(at, "the zip64 end record is missing");
  return Directory{.begin = Number(record, 48, 8), .bytes = Number(record, 40, 8), .members = Number(record, 32, 8)};
}

absl::Status ZipFile::ReadDirectory(const Directory& directory) {
  DDP_ASSIGN_OR_RETURN(const std::string content, ReadAt(directory.begin, directory.bytes));
  std::string_view rest = content;
  std::unordered_set<std::string> names;
  while (!rest.empty()) {
    const uint64_t at = directory.begin + (content.size() - rest.size());
    if (rest.size() < kCentralBytes || rest.substr(0, 4) != std::string_view("PK\1\2", 4)) {
      return Wrong(at, "no entry of a zip directory");
    }
    ZipMember member{.size = Number(rest, 24, 4),
                     .packed = Number(rest, 20, 4),
                     .header = Number(rest, 42, 4),
                     .crc = static_cast<uint32_t>(Number(rest, 16, 4)),
                     .method = static_cast<uint16_t>(Number(rest, 10, 2))};
    const uint64_t name_bytes = Number(rest, 28, 2);
    const uint64_t extra_bytes = Number(rest, 30, 2);
    const uint64_t entry = kCentralBytes + name_bytes + extra_bytes + Number(rest, 32, 2);
    if (entry > rest.size()) return Wrong(at, "the entry is cut");
    member.name = std::string(rest.substr(kCentralBytes, name_bytes));
    const std::string shown = absl::StrCat("\"", EscapeControls(member.name), "\"");
    if (!TakeZip64(rest.substr(kCentralBytes + name_bytes, extra_bytes), &member)) {
      return Wrong(at, absl::StrCat("the zip64 field of ", shown, " is damaged"));
    }
    if ((Number(rest, 8, 2) & 1) != 0) return Wrong(at, absl::StrCat(shown, " is encrypted"));
    if (member.method != 0 && member.method != 8) {
      return Wrong(at,
                   absl::StrCat(shown, " is packed by method ", member.method, "; only stored and deflated are read"));
    }
    if (member.header > size_ || member.packed > size_ - member.header) {
      return Wrong(at, absl::StrCat(shown, " does not lie in the archive"));
    }
    if (member.method == 0 && member.size != member.packed) {
      return Wrong(at, absl::StrCat(shown, " is stored, but ", member.packed, " bytes are to become ", member.size));
    }
    if (!names.insert(member.name).second) return Wrong(at, absl::StrCat("the name ", shown, " stands twice"));
    members_.push_back(std::move(member));
    rest.remove_prefix(entry);
  }
  if (members_.size() != directory.members) {
    return Wrong(directory.begin, absl::StrCat("the directory has ", members_.size(), " entries, the end record says ",
                                               directory.members));
  }
  return absl::OkStatus();
}

const ZipMember* ZipFile::Find(const std::string& name) const {
  for (const ZipMember& member : members_) {
    if (member.name == name) return &member;
  }
  return nullptr;
}

absl::StatusOr<std::string> ZipFile::Inflate(const ZipMember& member, uint64_t data, uint64_t wanted) const {
  constexpr uint64_t kStep = uint64_t{1} << 20;
  const auto damaged = [&] {
    return Wrong(data, absl::StrCat("the packed content of \"", EscapeControls(member.name), "\" is damaged"));
  };
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return absl::InternalError("zlib does not start");
  const struct End {
    z_stream* stream;
    ~End() { inflateEnd(stream); }
  } end{&stream};
  std::string content;
  std::string piece;
  uint64_t taken = 0;
  for (int state = Z_OK; state != Z_STREAM_END;) {
    if (stream.avail_in == 0 && taken < member.packed) {
      DDP_ASSIGN_OR_RETURN(piece, ReadAt(data + taken, std::min(kStep, member.packed - taken)));
      taken += piece.size();
      stream.next_in = reinterpret_cast<Bytef*>(piece.data());
      stream.avail_in = static_cast<uInt>(piece.size());
    }
    const size_t have = content.size();
    // One byte more than there should be, so that too long a content shows.
    content.resize(have + std::min(kStep, wanted - have + 1));
    stream.next_out = reinterpret_cast<Bytef*>(content.data() + have);
    stream.avail_out = static_cast<uInt>(content.size() - have);
    state = inflate(&stream, Z_NO_FLUSH);
    const bool full = stream.avail_out == 0;
    content.resize(content.size() - stream.avail_out);
    if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR) return damaged();
    if (content.size() >= wanted && wanted < member.size) {
      content.resize(wanted);
      return content;
    }
    if (content.size() > wanted) return damaged();
    if (state != Z_STREAM_END && !full && stream.avail_in == 0 && taken == member.packed) return damaged();
  }
  if (content.size() != member.size) return damaged();
  return content;
}

absl::StatusOr<std::string> ZipFile::Read(const ZipMember& member, uint64_t max_bytes) const {
  DDP_ASSIGN_OR_RETURN(const std::string local, ReadAt(member.header, kLocalBytes));
  if (local.compare(0, 4, "PK\3\4", 4) != 0) return Wrong(member.header, "no local header of a zip member");
  const uint64_t data = member.header + kLocalBytes + Number(local, 26, 2) + Number(local, 28, 2);
  if (data > size_ || member.packed > size_ - data) {
    return Wrong(member.header, absl::StrCat("\"", EscapeControls(member.name), "\" does not lie in the archive"));
  }
  const uint64_t wanted = std::min(member.size, max_bytes);
  std::string content;
  if (member.method == 0) {
    DDP_ASSIGN_OR_RETURN(content, ReadAt(data, wanted));
  } else {
    DDP_ASSIGN_OR_RETURN(content, Inflate(member, data, wanted));
  }
  if (wanted < member.size) return content;
  const uint64_t crc = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
  if (crc != member.crc) {
    return Wrong(data,
                 absl::StrCat("the checksum of \"", EscapeControls(member.name), "\" is wrong: the file is damaged"));
  }
  return content;
}

}  // namespace ddp
