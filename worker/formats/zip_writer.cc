#include <utility>

#include "common/status_macros.h"
#include "worker/formats/little_endian.h"
#include "worker/formats/zip.h"

namespace ddp {

namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint16_t kPaddingTag = 0x4246;  // "FB", which PyTorch pads with
constexpr uint16_t kUtf8Names = 1 << 11;

class Record {
 public:
  template <typename Number>
  Record& Put(Number number) {
    text_ += LittleEndian(number);
    return *this;
  }
  Record& Put(const std::string& text) {
    text_ += text;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Version 2.0, or 4.5 for zip64; stored; 1 January 1980, so that the same tensors give the same bytes.
void PutCommon(Record& record, const ZipEntry& entry, bool zip64) {
  record.Put<uint16_t>(zip64 ? 45 : 20).Put<uint16_t>(kUtf8Names).Put<uint16_t>(0);
  record.Put<uint16_t>(0).Put<uint16_t>(0x21).Put<uint32_t>(entry.crc);
  const uint32_t bytes = zip64 ? 0xffffffff : static_cast<uint32_t>(entry.bytes);
  record.Put<uint32_t>(bytes).Put<uint32_t>(bytes).Put(static_cast<uint16_t>(entry.name.size()));
}

}  // namespace

absl::Status ZipWriter::Begin(const std::string& name, uint64_t bytes, uint32_t crc) {
  ZipEntry entry{.name = name, .crc = crc, .packed_bytes = bytes, .bytes = bytes, .header_at = at_};
  const bool zip64 = bytes >= zip64_from_;
  Record extra;
  if (zip64) extra.Put<uint16_t>(1).Put<uint16_t>(16).Put<uint64_t>(bytes).Put<uint64_t>(bytes);
  const uint64_t data_at = at_ + 30 + name.size() + extra.text().size() + 4;
  const uint64_t padding = (kAlignment - data_at % kAlignment) % kAlignment;
  extra.Put(kPaddingTag).Put(static_cast<uint16_t>(padding)).Put(std::string(padding, 'Z'));
  Record header;
  header.Put<uint32_t>(0x04034b50);
  PutCommon(header, entry, zip64);
  header.Put(static_cast<uint16_t>(extra.text().size())).Put(name).Put(extra.text());
  entries_.push_back(std::move(entry));
  return Append(header.text());
}

absl::Status ZipWriter::Append(std::string_view bytes) {
  at_ += bytes.size();
  return sink_.Append(bytes);
}

absl::Status ZipWriter::Add(const std::string& name, std::string_view content) {
  DDP_RETURN_IF_ERROR(Begin(name, content.size(), ZipCrc(content)));
  return Append(content);
}

absl::Status ZipWriter::Finish() {
  const uint64_t directory_at = at_;
  for (const ZipEntry& entry : entries_) {
    // Both kinds of field at once, so that an entry's record says one thing in either half.
    const bool zip64 = entry.bytes >= zip64_from_ || entry.header_at >= zip64_from_;
    Record extra;
    if (zip64) {
      extra.Put<uint16_t>(1).Put<uint16_t>(24).Put<uint64_t>(entry.bytes).Put<uint64_t>(entry.bytes);
      extra.Put<uint64_t>(entry.header_at);
    }
    Record record;
    record.Put<uint32_t>(0x02014b50).Put<uint16_t>(zip64 ? 45 : 20);
    PutCommon(record, entry, zip64);
    record.Put(static_cast<uint16_t>(extra.text().size())).Put<uint16_t>(0).Put<uint16_t>(0).Put<uint16_t>(0);
    record.Put<uint32_t>(0).Put<uint32_t>(zip64 ? 0xffffffff : static_cast<uint32_t>(entry.header_at));
    DDP_RETURN_IF_ERROR(Append(record.Put(entry.name).Put(extra.text()).text()));
  }
  const uint64_t directory_bytes = at_ - directory_at;
  const uint64_t count = entries_.size();
  const bool zip64 = directory_at >= zip64_from_ || directory_bytes >= zip64_from_ || count >= 0xffff;
  Record end;
  if (zip64) {
    const uint64_t end64_at = at_;
    end.Put<uint32_t>(0x06064b50).Put<uint64_t>(44).Put<uint16_t>(45).Put<uint16_t>(45).Put<uint32_t>(0);
    end.Put<uint32_t>(0).Put(count).Put(count).Put(directory_bytes).Put(directory_at);
    end.Put<uint32_t>(0x07064b50).Put<uint32_t>(0).Put(end64_at).Put<uint32_t>(1);
  }
  const auto short_count = static_cast<uint16_t>(zip64 ? 0xffff : count);
  end.Put<uint32_t>(0x06054b50).Put<uint32_t>(0).Put(short_count).Put(short_count);
  end.Put<uint32_t>(zip64 ? 0xffffffff : static_cast<uint32_t>(directory_bytes));
  end.Put<uint32_t>(zip64 ? 0xffffffff : static_cast<uint32_t>(directory_at)).Put<uint16_t>(0);
  return Append(end.text());
}

}  // namespace ddp
