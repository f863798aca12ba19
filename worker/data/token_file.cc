#include "worker/data/token_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/data/raw_samples.h"
#include "worker/formats/input_file.h"
#include "worker/formats/xxh3.h"

namespace ddp {

namespace {

// llm.c's dev/data/data_common.py: 256 int32, then the tokens. The first three are magic, version and number of tokens.
constexpr uint64_t kHeaderBytes = 1024;
constexpr uint64_t kBlockBytes = 4096;
constexpr uint64_t kBlocks = 1024;

struct Kind {
  int32_t magic;
  int32_t version;
  uint64_t width;
};
constexpr std::array<Kind, 2> kKinds{{{20240520, 1, 2}, {20240801, 7, 4}}};

using Header = std::array<int32_t, 256>;

const char* TypeName(uint64_t width) { return width == 2 ? "uint16" : "uint32"; }

// What else llm.c writes into .bin files.
const char* OtherKind(int32_t magic) {
  if (magic == 20240522) return "llm.c's multiple-choice questions";
  if (magic == 20240326) return "a model of llm.c";
  if (magic == 20240327) return "debug values of llm.c";
  if (magic == 20240328) return "a tokenizer of llm.c";
  return nullptr;
}

// A header that somebody wrote after llm.c's example, with a magic of their own.
bool LooksLikeHeader(const Header& header, uint64_t bytes) {
  if (!std::all_of(header.begin() + 3, header.end(), [](int32_t x) { return x == 0; })) return false;
  const auto count = static_cast<uint64_t>(header[2]);
  return header[1] > 0 && header[1] < 1000 && header[2] > 0 &&
         (bytes - kHeaderBytes == count * 2 || bytes - kHeaderBytes == count * 4);
}

// Width of the tokens by the header; unset: there is none. InvalidArgument "byte N: what is wrong".
absl::StatusOr<std::optional<uint64_t>> ReadHeader(const Header& header, uint64_t bytes) {
  for (const Kind& kind : kKinds) {
    if (header[0] != kind.magic) continue;
    if (header[1] != kind.version) {
      return absl::InvalidArgumentError(absl::StrCat("byte 4: version ", header[1], " of the llm.c header ", header[0],
                                                     "; known is version ", kind.version));
    }
    if (header[2] < 0 || static_cast<uint64_t>(header[2]) * kind.width != bytes - kHeaderBytes) {
      return absl::InvalidArgumentError(absl::StrCat("byte 8: the header says ", header[2], " tokens of ",
                                                     TypeName(kind.width), ", but ", bytes - kHeaderBytes,
                                                     " bytes follow it"));
    }
    return kind.width;
  }
  if (const char* other = OtherKind(header[0])) {
    return absl::InvalidArgumentError(absl::StrCat("byte 0: the magic ", header[0], ": ", other, ", no tokens"));
  }
  if (LooksLikeHeader(header, bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("byte 0: a header with the unknown magic ", header[0],
                                                   "; llm.c's are 20240520 (uint16) and 20240801 (uint32)"));
  }
  return std::optional<uint64_t>();
}

}  // namespace

absl::StatusOr<TokenFile> TokenFile::Open(const std::string& path, const std::string& token_type, int64_t vocab_size,
                                          std::string_view field) {
  absl::StatusOr<OpenFile> open = OpenInput(path);
  if (!open.ok()) return FieldError(field, open.status());
  const auto wrong = [&](const std::string& what) { return FieldError(field, absl::StrCat(path, ": ", what)); };
  TokenFile file;
  file.path_ = path;
  file.fd_ = std::move(open->fd);
  file.bytes_ = open->size;
  file.vocab_size_ = vocab_size;
  std::optional<uint64_t> width;
  if (file.bytes_ >= kHeaderBytes) {
    Header header{};
    if (absl::Status status = ReadAt(file.fd_.get(), path, 0, header.data(), kHeaderBytes); !status.ok()) {
      return FieldError(field, status);
    }
    absl::StatusOr<std::optional<uint64_t>> found = ReadHeader(header, file.bytes_);
    if (!found.ok()) return wrong(std::string(found.status().message()));
    width = *found;
  }
  file.data_ = width ? kHeaderBytes : 0;
  file.width_ = width ? *width : token_type == "uint32" ? 4 : 2;
  if (width && !token_type.empty() && token_type != TypeName(*width)) {
    return FieldError(kTokenTypeField, absl::StrCat(path, ": the header says ", TypeName(*width), ", the spec ",
                                                    token_type, "; leave it empty for files with a header"));
  }
  if (file.width_ == 2 && vocab_size > 65536) {
    return FieldError(kTokenTypeField,
                      absl::StrCat(path, ": tokens of uint16 cannot come from a vocabulary of ", vocab_size,
                                   " (at most 65536: larger ids were cut when it was written); write them as uint32"));
  }
  const uint64_t data_bytes = file.bytes_ - file.data_;
  if (data_bytes % file.width_ != 0) {
    return wrong(absl::StrCat(data_bytes, " bytes are no whole number of ", TypeName(file.width_), " tokens"));
  }
  file.tokens_ = static_cast<int64_t>(data_bytes / file.width_);
  return file;
}

absl::Status TokenFile::Read(int64_t first, std::span<int32_t> out) const {
  const uint64_t at = data_ + static_cast<uint64_t>(first) * width_;
  char* bytes = reinterpret_cast<char*>(out.data());
  // Narrow tokens go into the second half, and are widened from there: each is read before it is written over.
  char* from = bytes + out.size() * (4 - width_);
  DDP_RETURN_IF_ERROR(ReadAt(fd_.get(), path_, at, from, out.size() * width_));
  for (size_t i = 0; i < out.size(); ++i) {
    uint32_t token = 0;
    std::memcpy(&token, from + i * width_, width_);  // little-endian, as every machine that we build for
    if (token >= static_cast<uint64_t>(vocab_size_)) {
      return absl::InvalidArgumentError(absl::StrCat(path_, ": byte ", at + i * width_, ": token ", token,
                                                     " is outside the vocabulary of ", vocab_size_,
                                                     " (training.data.vocab_size, token_type)"));
    }
    std::memcpy(bytes + i * 4, &token, 4);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> TokenFile::Fingerprint() const {
  Xxh3 hash;
  hash.Update({reinterpret_cast<const char*>(&bytes_), sizeof(bytes_)});
  std::array<char, kBlockBytes> block{};
  const auto add = [&](uint64_t at) -> absl::Status {
    const uint64_t n = std::min(kBlockBytes, bytes_ - at);
    DDP_RETURN_IF_ERROR(ReadAt(fd_.get(), path_, at, block.data(), n));
    hash.Update({block.data(), n});
    return absl::OkStatus();
  };
  if (bytes_ <= (kBlocks + 1) * kBlockBytes) {
    for (uint64_t at = 0; at < bytes_; at += kBlockBytes) DDP_RETURN_IF_ERROR(add(at));
  } else {
    DDP_RETURN_IF_ERROR(add(0));
    const uint64_t last = bytes_ - kBlockBytes;
    for (uint64_t i = 1; i <= kBlocks; ++i) DDP_RETURN_IF_ERROR(add(last / kBlocks * i + last % kBlocks * i / kBlocks));
  }
  return hash.Hex();
}

}  // namespace ddp
