#include "worker/data/token_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files.h"
#include "common/status_macros.h"
#include "worker/data/format.h"
#include "worker/data/raw_samples.h"
#include "worker/data/source.h"
#include "worker/data/wordnet.h"
#include "worker/formats/input_file.h"

namespace ddp {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kEnding = ".tokens";
constexpr std::string_view kTemporary = ".tokens-new-";
constexpr int64_t kStaleSeconds = 3600;  // a temporary file of a writer that died
constexpr uint64_t kAlignment = 64;
constexpr size_t kPerSplit = 5;
constexpr size_t kSections =
    1 + 2 * kPerSplit;  // a JSON text; then of each split tokens, offsets, classes, numbers, hashes

struct Section {
  uint64_t begin = 0;
  uint64_t bytes = 0;
};

struct Header {
  std::array<char, 8> magic{'d', 'd', 'p', 't', 'o', 'k', '1', '\n'};
  std::array<char, 16> key{};
  std::array<char, 16> checksum{};  // XXH3-128 over `sections` and all bytes behind the header
  uint64_t bytes = 0;               // of the file
  std::array<Section, kSections> sections{};
};

std::string Bytes128(const XXH128_hash_t& hash) {
  std::string bytes(16, '\0');
  std::memcpy(bytes.data(), &hash.low64, 8);
  std::memcpy(bytes.data() + 8, &hash.high64, 8);
  return bytes;
}

uint64_t Aligned(uint64_t at) { return (at + kAlignment - 1) / kAlignment * kAlignment; }

// The files that a spec reads. Empty: no text, so nothing to keep.
std::vector<std::string> InputsOf(const DataSpec& spec) {
  std::vector<std::string> paths;
  const absl::StatusOr<std::optional<std::string>> part = WordnetPart(spec.source);
  if (!part.ok()) return paths;
  const std::optional<Format> format = FormatOf(spec.source);
  if (*part) {
    paths = WordnetFiles(kWordnetFolder, **part);
  } else if (format == Format::kTextLines || (format && !spec.text_column.empty())) {
    paths.push_back(spec.source);
    if (!spec.valid.empty() && spec.valid != "none") paths.push_back(spec.valid);
  } else {
    return paths;
  }
  constexpr std::string_view kModel = "sentencepiece:";
  if (std::string_view(spec.tokenizer).starts_with(kModel)) paths.push_back(spec.tokenizer.substr(kModel.size()));
  return paths;
}

absl::StatusOr<std::string> HashContent(int fd, const std::string& path, uint64_t size) {
  constexpr uint64_t kStep = uint64_t{1} << 20;
  std::string block(std::min(kStep, size), '\0');
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (uint64_t at = 0; at < size; at += kStep) {
    const uint64_t n = std::min(kStep, size - at);
    DDP_RETURN_IF_ERROR(ReadAt(fd, path, at, block.data(), n));
    XXH3_128bits_update(&state, block.data(), n);
  }
  return Bytes128(XXH3_128bits_digest(&state));
}

int64_t TimeOf(const struct stat& info) { return info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec; }

// A file in memory, and unmapped with its last user.
class Mapping {
 public:
  Mapping(void* data, size_t size) : data_(data), size_(size) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { munmap(data_, size_); }
  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  void* data_;
  size_t size_;
};

std::shared_ptr<const Mapping> MapFile(const std::string& path) {
  const absl::StatusOr<OpenFile> file = OpenInput(path);
  if (!file.ok() || file->size < sizeof(Header)) return nullptr;
  void* data = mmap(nullptr, file->size, PROT_READ, MAP_SHARED, file->fd.get(), 0);
  if (data == MAP_FAILED) return nullptr;
  futimens(file->fd.get(), nullptr);  // used now: Evict looks at this time
  return std::make_shared<const Mapping>(data, file->size);
}

// Hands out the file's bytes behind the header, in their order.
template <typename Visit>
absl::Status ForEachPart(const Header& header, const std::array<std::string_view, kSections>& contents, Visit visit) {
  static constexpr std::array<char, kAlignment> kZeros{};
  uint64_t at = sizeof(Header);
  for (size_t i = 0; i < kSections; ++i) {
    DDP_RETURN_IF_ERROR(visit(std::string_view(kZeros.data(), header.sections[i].begin - at)));
    DDP_RETURN_IF_ERROR(visit(contents[i]));
    at = header.sections[i].begin + header.sections[i].bytes;
  }
  return absl::OkStatus();
}

// Whether the header is that of a whole file with this key.
bool Verify(const Header& header, std::string_view key, std::string_view file) {
  if (header.magic != Header{}.magic || std::string_view(header.key.data(), 16) != key || header.bytes != file.size()) {
    return false;
  }
  uint64_t at = sizeof(Header);
  for (const Section& section : header.sections) {
    if (section.begin != Aligned(at) || section.begin > file.size() || section.bytes > file.size() - section.begin) {
      return false;
    }
    at = section.begin + section.bytes;
  }
  const std::string_view rest = file.substr(sizeof(Header));
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, header.sections.data(), sizeof(header.sections));
  XXH3_128bits_update(&state, rest.data(), rest.size());
  return at == file.size() && Bytes128(XXH3_128bits_digest(&state)) == std::string_view(header.checksum.data(), 16);
}

template <typename T>
Array<T> View(const std::shared_ptr<const Mapping>& mapping, const Section& section) {
  return Array<T>::View(mapping, reinterpret_cast<const T*>(mapping->bytes().data() + section.begin),
                        section.bytes / sizeof(T));
}

Split ViewSplit(const std::shared_ptr<const Mapping>& mapping, const Section* sections) {
  Split split;
  split.tokens = View<int32_t>(mapping, sections[0]);
  split.token_offsets = View<int64_t>(mapping, sections[1]);
  split.classes = View<int64_t>(mapping, sections[2]);
  split.numbers = View<double>(mapping, sections[3]);
  split.sample_hash = View<uint64_t>(mapping, sections[4]);
  return split;
}

template <typename T>
std::string_view BytesOfArray(const Array<T>& array) {
  return {reinterpret_cast<const char*>(array.data()), array.size() * sizeof(T)};
}

// The file's sections. `text` must outlive them.
std::array<std::string_view, kSections> SectionsOf(const Dataset& data, const std::string& text) {
  std::array<std::string_view, kSections> sections{text};
  size_t i = 1;
  for (const Split* split : {&data.train, &data.valid}) {
    sections[i++] = BytesOfArray(split->tokens);
    sections[i++] = BytesOfArray(split->token_offsets);
    sections[i++] = BytesOfArray(split->classes);
    sections[i++] = BytesOfArray(split->numbers);
    sections[i++] = BytesOfArray(split->sample_hash);
  }
  return sections;
}

absl::Status WriteEntry(const std::string& path, const Header& header,
                        const std::array<std::string_view, kSections>& contents) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("cannot make ", path));
  DDP_RETURN_IF_ERROR(WriteAll(fd.get(), {reinterpret_cast<const char*>(&header), sizeof(header)}));
  return ForEachPart(header, contents, [&](std::string_view part) { return WriteAll(fd.get(), part); });
}

// "KEY.tokens", or a temporary name of one.
bool IsKey(std::string_view name) {
  return name.size() == 32 && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Removes all but the newest entries, and what writers that died left.
void Evict(const std::string& folder) {
  const absl::StatusOr<std::vector<std::string>> names = ListFolder(folder);
  if (!names.ok()) return;
  std::vector<std::pair<int64_t, std::string>> entries;
  for (const std::string& name : *names) {
    if (!IsKey(name.substr(0, 32))) continue;
    const std::string_view rest = std::string_view(name).substr(32);
    const std::string path = absl::StrCat(folder, "/", name);
    struct stat info {};
    if ((rest != kEnding && !rest.starts_with(kTemporary)) || lstat(path.c_str(), &info) != 0 ||
        !S_ISREG(info.st_mode)) {
      continue;
    }
    if (rest == kEnding) {
      entries.emplace_back(TimeOf(info), path);
    } else if (info.st_mtim.tv_sec + kStaleSeconds < std::time(nullptr)) {
      unlink(path.c_str());
    }
  }
  std::sort(entries.rbegin(), entries.rend());
  for (size_t i = TokenCache::kEntries; i < entries.size(); ++i) unlink(entries[i].second.c_str());
}

}  // namespace

TokenCache::TokenCache(std::string folder, const DataSpec& spec, const Tokenizer* tokenizer,
                       const std::vector<std::string>& class_names)
    : folder_(std::move(folder)) {
  Json identity =
      Json::array({"tokens", 1, spec.source, spec.valid, absl::StrFormat("%a", spec.valid_fraction), spec.text_column,
                   spec.label_column, spec.limit, spec.tokenizer, spec.vocab_size, spec.max_tokens,
                   static_cast<int>(spec.label_kind), tokenizer == nullptr ? "" : tokenizer->ToJson(), class_names});
  for (const std::string& path : InputsOf(spec)) {
    const absl::StatusOr<OpenFile> file = OpenInput(path);
    struct stat info {};
    if (!file.ok() || fstat(file->fd.get(), &info) != 0) return;
    const absl::StatusOr<std::string> hash = HashContent(file->fd.get(), path, file->size);
    if (!hash.ok()) return;
    files_.push_back({path, file->size, TimeOf(info)});
    identity.push_back(file->size);
    identity.push_back(absl::BytesToHexString(*hash));
  }
  if (files_.empty()) return;
  const std::string text = identity.dump(-1, ' ', false, Json::error_handler_t::replace);
  key_ = Bytes128(XXH3_128bits(text.data(), text.size()));
  path_ = absl::StrCat(folder_, "/", absl::BytesToHexString(key_), std::string(kEnding));
}

std::optional<Dataset> TokenCache::Find() const {
  if (path_.empty()) return std::nullopt;
  const std::shared_ptr<const Mapping> mapping = MapFile(path_);
  if (mapping == nullptr) return std::nullopt;
  Header header;
  std::memcpy(&header, mapping->bytes().data(), sizeof(header));
  if (!Verify(header, key_, mapping->bytes())) return std::nullopt;
  const Section& text = header.sections[0];
  const Json json = Json::parse(mapping->bytes().substr(text.begin, text.bytes), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  absl::StatusOr<Tokenizer> tokenizer = Tokenizer::FromJson(json.value("tokenizer", ""));
  if (!tokenizer.ok()) return std::nullopt;
  Dataset data;
  data.tokenizer = *std::move(tokenizer);
  data.class_names = json.value("class_names", std::vector<std::string>{});
  data.fingerprint = json.value("fingerprint", "");
  data.train = ViewSplit(mapping, &header.sections[1]);
  data.valid = ViewSplit(mapping, &header.sections[1 + kPerSplit]);
  return data;
}

void TokenCache::Keep(const Dataset& data) const {
  if (path_.empty() || data.train.token_offsets.empty()) return;
  for (const Seen& seen : files_) {
    struct stat info {};
    // Changed since it was hashed: what was read may be something else.
    if (stat(seen.path.c_str(), &info) != 0 || static_cast<uint64_t>(info.st_size) != seen.size ||
        TimeOf(info) != seen.time_ns) {
      return;
    }
  }
  if (!MakeFolders(folder_).ok()) return;
  const std::string text =
      Json{{"tokenizer", data.tokenizer.ToJson()}, {"class_names", data.class_names}, {"fingerprint", data.fingerprint}}
          .dump();
  const std::array<std::string_view, kSections> contents = SectionsOf(data, text);
  Header header;
  std::copy(key_.begin(), key_.end(), header.key.begin());
  uint64_t at = sizeof(Header);
  for (size_t i = 0; i < kSections; ++i) {
    header.sections[i] = {Aligned(at), contents[i].size()};
    at = header.sections[i].begin + contents[i].size();
  }
  header.bytes = at;
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, header.sections.data(), sizeof(header.sections));
  ForEachPart(header, contents, [&](std::string_view part) {
    XXH3_128bits_update(&state, part.data(), part.size());
    return absl::OkStatus();
  }).IgnoreError();
  const std::string checksum = Bytes128(XXH3_128bits_digest(&state));
  std::copy(checksum.begin(), checksum.end(), header.checksum.begin());
  // Not synced: an entry that a crash of the machine cut is seen by its checksum.
  const std::string temporary =
      absl::StrCat(folder_, "/", absl::BytesToHexString(key_), std::string(kTemporary), getpid());
  unlink(temporary.c_str());  // of a process that had this number before
  if (!WriteEntry(temporary, header, contents).ok() || rename(temporary.c_str(), path_.c_str()) != 0) {
    unlink(temporary.c_str());
    return;
  }
  Evict(folder_);
}

}  // namespace ddp
