#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "worker/formats/zip.h"

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
constexpr uint32_t kIn64 = 0xffffffff;  // the true value stands in the zip64 field
constexpr uint16_t kEncrypted = 1;
// What deflate makes of one byte at best, so a greater size is a lie.
constexpr uint64_t kMaxRatio = 1032;

// Little-endian numbers out of bytes that are known to be long enough.
template <typename Number>
Number At(std::string_view bytes, size_t offset) {
  Number number;
  std::memcpy(&number, bytes.data() + offset, sizeof(number));
  return number;
}

std::string Shown(const std::string& name) { return absl::StrCat("the entry \"", EscapeControls(name), "\""); }

bool LeadsOut(const std::string& name) {
  return name.empty() || name.front() == '/' || absl::StrContains("/" + name + "/", "/../") ||
         name.find('\\') != std::string::npos || name.find('\0') != std::string::npos;
}

// Sizes and position that did not fit into 32 bits stand in the extra field, in this order and only those. False: the
// field is damaged or missing.
bool TakeZip64(std::string_view extra, ZipEntry& entry) {
  std::string_view values;
  while (extra.size() >= 4) {
    const auto tag = At<uint16_t>(extra, 0);
    const auto length = At<uint16_t>(extra, 2);
    extra.remove_prefix(4);
    if (length > extra.size()) return false;
    if (tag == kZip64Tag) {
      values = extra.substr(0, length);
      break;
    }
    extra.remove_prefix(length);
  }
  for (uint64_t* value : {&entry.bytes, &entry.packed_bytes, &entry.header_at}) {
    if (*value != kIn64) continue;
    if (values.size() < 8) return false;
    *value = At<uint64_t>(values, 0);
    values.remove_prefix(8);
  }
  return true;
}

}  // namespace

uint32_t ZipCrc(std::string_view bytes, uint32_t so_far) {
  return static_cast<uint32_t>(crc32_z(so_far, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

absl::Status ZipReader::Wrong(uint64_t at, const std::string& what) const {
  return absl::InvalidArgumentError(absl::StrCat(path_, ": byte ", at, ": ", what));
}

absl::StatusOr<std::string> ZipReader::Bytes(uint64_t at, uint64_t bytes) const {
  std::string content(bytes, '\0');
  DDP_RETURN_IF_ERROR(ReadAt(file_.fd.get(), path_, at, content.data(), bytes));
  return content;
}

absl::StatusOr<ZipReader> ZipReader::Open(const std::string& path) {
  ZipReader zip;
  zip.path_ = path;
  DDP_ASSIGN_OR_RETURN(zip.file_, OpenInput(path));
  DDP_ASSIGN_OR_RETURN(const Directory directory, zip.FindDirectory());
  DDP_ASSIGN_OR_RETURN(std::vector<ZipEntry> entries, zip.ParseDirectory(directory));
  std::sort(entries.begin(), entries.end(),
            [](const ZipEntry& a, const ZipEntry& b) { return a.header_at < b.header_at; });
  uint64_t free_from = 0;
  for (ZipEntry& entry : entries) {
    DDP_RETURN_IF_ERROR(zip.TakeLocalHeader(directory.at, entry));
    const uint64_t at = entry.header_at;
    if (at < free_from) return zip.Wrong(at, Shown(entry.name) + " overlaps another; refused");
    free_from = entry.data_at + entry.packed_bytes;
    std::string name = entry.name;
    const auto [place, is_new] = zip.entries_.emplace(std::move(name), std::move(entry));
    if (!is_new) return zip.Wrong(at, Shown(place->first) + " stands twice");
  }
  return zip;
}

// The end record stands last, before a comment of at most 65,535 bytes.
absl::StatusOr<ZipReader::Directory> ZipReader::FindDirectory() const {
  const uint64_t tail_bytes = std::min<uint64_t>(file_.size, kEndBytes + 0xffff + kLocator64Bytes);
  DDP_ASSIGN_OR_RETURN(const std::string tail, Bytes(file_.size - tail_bytes, tail_bytes));
  if (tail.size() < kEndBytes) return Wrong(file_.size, "no zip archive: it is too short for one");
  size_t end = tail.size() - kEndBytes;
  while (At<uint32_t>(tail, end) != kEndSignature || At<uint16_t>(tail, end + 20) != tail.size() - end - kEndBytes) {
    if (end == 0) return Wrong(file_.size, "no zip archive: its directory is missing (was the file cut off?)");
    --end;
  }
  const uint64_t end_at = file_.size - tail.size() + end;
  Directory directory{.at = At<uint32_t>(tail, end + 16),
                      .bytes = At<uint32_t>(tail, end + 12),
                      .entries = At<uint16_t>(tail, end + 10),
                      .end_at = end_at};
  if (end >= kLocator64Bytes && At<uint32_t>(tail, end - kLocator64Bytes) == kLocator64Signature) {
    DDP_ASSIGN_OR_RETURN(directory,
                         FollowLocator64(end_at - kLocator64Bytes, At<uint64_t>(tail, end - kLocator64Bytes + 8)));
  } else if (At<uint16_t>(tail, end + 4) != 0 || At<uint16_t>(tail, end + 6) != 0) {
    return Wrong(end_at, "a split archive");
  }
  if (directory.at > directory.end_at || directory.bytes > directory.end_at - directory.at) {
    return Wrong(directory.end_at, "the directory lies outside of the file");
  }
  if (directory.bytes > kMaxDirectory) return Wrong(directory.end_at, "a directory of more than 64 MiB");
  if (directory.entries > directory.bytes / kCentralBytes) {
    return Wrong(directory.end_at, "more entries than the directory has room for");
  }
  return directory;
}

absl::StatusOr<ZipReader::Directory> ZipReader::FollowLocator64(uint64_t locator_at, uint64_t end64_at) const {
  if (locator_at < kEnd64Bytes || end64_at > locator_at - kEnd64Bytes) {
    return Wrong(locator_at, "the zip64 directory lies outside of the file");
  }
  DDP_ASSIGN_OR_RETURN(const std::string end64, Bytes(end64_at, kEnd64Bytes));
  if (At<uint32_t>(end64, 0) != kEnd64Signature) return Wrong(end64_at, "no zip64 directory where the archive says");
  if (At<uint32_t>(end64, 16) != 0 || At<uint32_t>(end64, 20) != 0) return Wrong(end64_at, "a split archive");
  return Directory{.at = At<uint64_t>(end64, 48),
                   .bytes = At<uint64_t>(end64, 40),
                   .entries = At<uint64_t>(end64, 32),
                   .end_at = end64_at};
}

absl::StatusOr<std::vector<ZipEntry>> ZipReader::ParseDirectory(const Directory& directory) const {
  DDP_ASSIGN_OR_RETURN(const std::string content, Bytes(directory.at, directory.bytes));
  std::vector<ZipEntry> entries;
  for (std::string_view rest = content; !rest.empty();) {
    const uint64_t at = directory.at + (content.size() - rest.size());
    if (rest.size() < kCentralBytes || At<uint32_t>(rest, 0) != kCentralSignature) {
      return Wrong(at, "a damaged directory");
    }
    const size_t name_bytes = At<uint16_t>(rest, 28);
    const size_t extra_bytes = At<uint16_t>(rest, 30);
    const size_t comment_bytes = At<uint16_t>(rest, 32);
    const size_t record_bytes = kCentralBytes + name_bytes + extra_bytes + comment_bytes;
    if (rest.size() < record_bytes) return Wrong(at, "a damaged directory");
    ZipEntry entry{.name = std::string(rest.substr(kCentralBytes, name_bytes)),
                   .crc = At<uint32_t>(rest, 16),
                   .packed_bytes = At<uint32_t>(rest, 20),
                   .bytes = At<uint32_t>(rest, 24),
                   .header_at = At<uint32_t>(rest, 42)};
    const std::string shown = Shown(entry.name);
    if (LeadsOut(entry.name)) return Wrong(at, shown + " leads out of the archive; refused");
    if ((At<uint16_t>(rest, 8) & kEncrypted) != 0) return Wrong(at, shown + " is encrypted");
    const auto method = At<uint16_t>(rest, 10);
    if (method != 0 && method != Z_DEFLATED) {
      return Wrong(at, absl::StrCat(shown, " is packed by method ", method, "; only deflate is read"));
    }
    entry.deflated = method == Z_DEFLATED;
    if (!TakeZip64(rest.substr(kCentralBytes + name_bytes, extra_bytes), entry)) {
      return Wrong(at, shown + " has a damaged zip64 field");
    }
    if (!entry.deflated && entry.bytes != entry.packed_bytes) {
      return Wrong(at, shown + " is stored, but has two sizes");
    }
    entries.push_back(std::move(entry));
    rest.remove_prefix(record_bytes);
  }
  if (entries.size() != directory.entries) {
    return Wrong(directory.at,
                 absl::StrCat("the directory holds ", entries.size(), " entries instead of ", directory.entries));
  }
  return entries;
}

// Where the content begins is known only from the header in front of it.
absl::Status ZipReader::TakeLocalHeader(uint64_t data_end, ZipEntry& entry) const {
  const auto wrong = [&](const std::string& what) { return Wrong(entry.header_at, Shown(entry.name) + " " + what); };
  if (entry.header_at > data_end || data_end - entry.header_at < kLocalBytes) return wrong("lies outside of the file");
  DDP_ASSIGN_OR_RETURN(const std::string header, Bytes(entry.header_at, kLocalBytes));
  if (At<uint32_t>(header, 0) != kLocalSignature) return wrong("has no header where the directory says");
  const uint64_t name_bytes = At<uint16_t>(header, 26);
  const uint64_t extra_bytes = At<uint16_t>(header, 28);
  entry.data_at = entry.header_at + kLocalBytes + name_bytes + extra_bytes;
  if (entry.data_at > data_end || entry.packed_bytes > data_end - entry.data_at) {
    return wrong("lies outside of the file");
  }
  DDP_ASSIGN_OR_RETURN(const std::string name, Bytes(entry.header_at + kLocalBytes, name_bytes));
  if (name != entry.name || At<uint16_t>(header, 8) != (entry.deflated ? Z_DEFLATED : 0)) {
    return wrong("has another name or method in its header");
  }
  return absl::OkStatus();
}

const ZipEntry* ZipReader::Find(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

absl::StatusOr<std::string> ZipReader::Inflate(const ZipEntry& entry, uint64_t wanted) const {
  const auto wrong = [&] {
    return Wrong(entry.data_at, Shown(entry.name) + " does not unpack to the size that the directory says");
  };
  if (entry.bytes / kMaxRatio > entry.packed_bytes) return wrong();
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return absl::InternalError("cannot start zlib");
  const struct End {
    z_stream* stream;
    ~End() { inflateEnd(stream); }
  } end{&stream};
  constexpr uint64_t kPiece = uint64_t{1} << 20;
  std::string out;
  std::string packed;
  uint64_t taken = 0;
  int result = Z_OK;
  while (result == Z_OK && out.size() <= wanted) {
    if (stream.avail_in == 0) {
      DDP_ASSIGN_OR_RETURN(packed, Bytes(entry.data_at + taken, std::min(kPiece, entry.packed_bytes - taken)));
      taken += packed.size();
      stream.next_in = reinterpret_cast<Bytef*>(packed.data());
      stream.avail_in = static_cast<uInt>(packed.size());
    }
    const size_t have = out.size();
    // Room for one byte more than there should be, so that a longer content shows.
    out.resize(have + std::min(kPiece, wanted - have + 1));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + have);
    stream.avail_out = static_cast<uInt>(out.size() - have);
    result = inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
  }
  if (wanted < entry.bytes) {
    if (out.size() <= wanted) return wrong();
    out.resize(wanted);
    return out;
  }
  if (result != Z_STREAM_END || out.size() != wanted || stream.avail_in != 0 || taken != entry.packed_bytes) {
    return wrong();
  }
  return out;
}

absl::StatusOr<std::string> ZipReader::Read(const ZipEntry& entry, uint64_t max_bytes) const {
  if (entry.bytes > max_bytes) {
    return Wrong(entry.data_at,
                 absl::StrCat(Shown(entry.name), " has ", entry.bytes, " bytes, at most ", max_bytes, " are read"));
  }
  return ReadHead(entry, max_bytes);
}

absl::StatusOr<std::string> ZipReader::ReadHead(const ZipEntry& entry, uint64_t max_bytes) const {
  const uint64_t wanted = std::min(entry.bytes, max_bytes);
  DDP_ASSIGN_OR_RETURN(std::string content, entry.deflated ? Inflate(entry, wanted) : Bytes(entry.data_at, wanted));
  if (wanted == entry.bytes && ZipCrc(content) != entry.crc) {
    return Wrong(entry.data_at, Shown(entry.name) + " is damaged: its CRC-32 differs");
  }
  return content;
}

}  // namespace ddp
