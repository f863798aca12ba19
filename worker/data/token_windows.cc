#include "worker/data/token_windows.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "worker/data/raw_samples.h"
#include "worker/data/source.h"
#include "worker/data/token_file.h"
#include "worker/formats/xxh3.h"

namespace ddp {

namespace {

constexpr int64_t kChunks = 1024;
constexpr int64_t kMaxWindows = std::numeric_limits<int32_t>::max();
constexpr uint64_t kSeed = 0x646470646b656e73;  // another one than of the hashes of samples
constexpr int64_t kCheckedWindows = 64;         // at the beginning of each split, when a file is opened

uint64_t ChunkHash(int64_t chunk) { return XXH3_64bits_withSeed(&chunk, sizeof(chunk), kSeed); }

class FileWindows : public TokenWindows {
 public:
  FileWindows(std::shared_ptr<const TokenFile> file, int64_t window_tokens, const std::vector<WindowRange>& ranges,
              int64_t limit)
      : file_(std::move(file)), window_tokens_(window_tokens) {
    for (const WindowRange& range : ranges) {
      starts_.push_back(size_);
      firsts_.push_back(range.first);
      size_ += range.count;
    }
    if (limit > 0) size_ = std::min(size_, limit);
  }

  int64_t size() const override { return size_; }
  int64_t window_tokens() const override { return window_tokens_; }

  absl::Status Read(int64_t index, std::span<int32_t> out) const override {
    if (index < 0 || index >= size_ || static_cast<int64_t>(out.size()) != window_tokens_ + 1) {
      return absl::InternalError(absl::StrCat("window ", index, " of ", size_, " into ", out.size(), " tokens"));
    }
    const auto range =
        static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), index) - starts_.begin()) - 1;
    return file_->Read((firsts_[range] + index - starts_[range]) * window_tokens_, out);
  }

 private:
  std::shared_ptr<const TokenFile> file_;
  int64_t window_tokens_;
  int64_t size_ = 0;
  std::vector<int64_t> starts_;  // of each range: how many windows come before it
  std::vector<int64_t> firsts_;  // and its first window in the file
};

absl::Status CheckBeginning(const TokenWindows& windows, std::string_view field) {
  std::vector<int32_t> tokens(static_cast<size_t>(windows.window_tokens()) + 1);
  for (int64_t i = 0; i < std::min(windows.size(), kCheckedWindows); ++i) {
    if (absl::Status status = windows.Read(i, tokens); !status.ok()) return FieldError(field, status);
  }
  return absl::OkStatus();
}

struct OpenedFile {
  std::shared_ptr<const TokenFile> file;
  int64_t windows = 0;
  std::string fingerprint;
};

absl::StatusOr<OpenedFile> OpenOne(const std::string& path, const DataSpec& spec, int64_t vocab_size,
                                   std::string_view field) {
  DDP_ASSIGN_OR_RETURN(TokenFile file, TokenFile::Open(path, spec.token_type, vocab_size, field));
  OpenedFile opened{.windows = file.size() > 0 ? (file.size() - 1) / spec.max_tokens : 0};
  if (opened.windows == 0) {
    return FieldError(field, absl::StrCat(path, " holds ", file.size(), " tokens; a window of max_tokens ",
                                          spec.max_tokens, " needs one more than these"));
  }
  if (opened.windows > kMaxWindows) {
    return FieldError(kMaxTokensField, absl::StrCat(path, " holds ", opened.windows, " windows of ", spec.max_tokens,
                                                    " tokens; at most ", kMaxWindows, " can be read: use longer ones"));
  }
  absl::StatusOr<std::string> fingerprint = file.Fingerprint();
  if (!fingerprint.ok()) return FieldError(field, fingerprint.status());
  opened.fingerprint = *std::move(fingerprint);
  opened.file = std::make_shared<const TokenFile>(std::move(file));
  return opened;
}

}  // namespace

WindowDivision DivideWindows(int64_t windows, double fraction) {
  const int64_t chunk_windows = std::max<int64_t>(1, windows / kChunks);
  const int64_t chunks = (windows + chunk_windows - 1) / chunk_windows;
  int64_t lowest = 0;
  int64_t highest = 0;
  for (int64_t chunk = 1; chunk < chunks; ++chunk) {
    if (ChunkHash(chunk) < ChunkHash(lowest)) lowest = chunk;
    if (ChunkHash(chunk) > ChunkHash(highest)) highest = chunk;
  }
  WindowDivision division;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const bool held = chunk != highest && (chunk == lowest || HeldOut(ChunkHash(chunk), fraction));
    const int64_t first = chunk * chunk_windows;
    (held ? division.valid : division.train).push_back({first, std::min(chunk_windows, windows - first)});
  }
  return division;
}

absl::StatusOr<TokenData> OpenTokenWindows(const DataSpec& spec, int64_t vocab_size) {
  const auto make = [&](const OpenedFile& opened, const std::vector<WindowRange>& ranges, int64_t limit) {
    return std::make_shared<FileWindows>(opened.file, spec.max_tokens, ranges, limit);
  };
  DDP_ASSIGN_OR_RETURN(const OpenedFile train, OpenOne(spec.source, spec, vocab_size, kSourceField));
  std::string identity = absl::StrCat("tokens 1 ", train.fingerprint, " ", spec.max_tokens, " ", spec.limit, " ");
  TokenData data;
  if (spec.valid.empty()) {
    const WindowDivision division = DivideWindows(train.windows, spec.valid_fraction);
    data.train = make(train, division.train, spec.limit);
    if (!division.valid.empty()) data.valid = make(train, division.valid, 0);
    absl::StrAppend(&identity, absl::StrFormat("%a", spec.valid_fraction));
  } else {
    data.train = make(train, {{0, train.windows}}, spec.limit);
    if (spec.valid != "none") {
      DDP_ASSIGN_OR_RETURN(const OpenedFile valid, OpenOne(spec.valid, spec, vocab_size, kValidField));
      data.valid = make(valid, {{0, valid.windows}}, 0);
      absl::StrAppend(&identity, valid.fingerprint);
      DDP_RETURN_IF_ERROR(CheckBeginning(*data.valid, kValidField));
    }
  }
  DDP_RETURN_IF_ERROR(CheckBeginning(*data.train, kSourceField));
  data.fingerprint = Xxh3Hex(identity);
  return data;
}

}  // namespace ddp
