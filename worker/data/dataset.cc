#include "worker/data/dataset.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "worker/data/format.h"
#include "worker/data/source.h"
#include "worker/data/token_cache.h"
#include "worker/data/token_windows.h"
#include "worker/formats/input_file.h"
#include "worker/formats/xxh3.h"

namespace ddp {

namespace {

constexpr size_t kMaxModelBytes = size_t{64} << 20;  // of a SentencePiece model; those in use have a few MB

std::vector<uint64_t> HashAll(const RawSamples& samples) {
  std::vector<uint64_t> hashes(static_cast<size_t>(samples.size));
  for (int64_t i = 0; i < samples.size; ++i) hashes[static_cast<size_t>(i)] = ContentHash(samples, i);
  return hashes;
}

// Which raw samples go where.
struct Division {
  std::vector<int64_t> train;  // of RawData::train
  std::vector<int64_t> valid;  // of RawData::valid when there is one, of RawData::train otherwise
};

Division Divide(const RawData& raw, const std::vector<uint64_t>& hashes, const DataSpec& spec) {
  Division division;
  const bool hold_out = !raw.valid && spec.valid != "none";
  for (int64_t i = 0; i < raw.train.size; ++i) {
    const bool held = hold_out && HeldOut(hashes[static_cast<size_t>(i)], spec.valid_fraction);
    (held ? division.valid : division.train).push_back(i);
  }
  if (raw.valid && spec.valid != "none") {
    for (int64_t i = 0; i < raw.valid->size; ++i) division.valid.push_back(i);
  }
  if (raw.order_by_hash) {
    // Another hash than the one that divided, which is not evenly spread any more.
    const auto key = [&](int64_t i) { return XXH3_64bits_withSeed(&hashes[static_cast<size_t>(i)], 8, 1); };
    std::stable_sort(division.train.begin(), division.train.end(),
                     [&](int64_t a, int64_t b) { return key(a) < key(b); });
  }
  return division;
}

void Limit(int64_t limit, std::vector<int64_t>* chosen) {
  if (limit > 0 && limit < static_cast<int64_t>(chosen->size())) chosen->resize(static_cast<size_t>(limit));
}

// How pixels become numbers.
struct PixelScale {
  float mean = 0;
  float std = 1;
};

// Mean and standard deviation of the chosen samples' pixels as parts of 1, out of whole sums.
PixelScale MeasurePixels(const RawSamples& raw, const std::vector<int64_t>& chosen) {
  std::array<uint64_t, 256> counts{};
  const auto d = static_cast<size_t>(raw.feature_dim);
  for (const int64_t i : chosen) {
    const uint8_t* row = raw.pixels.data() + static_cast<size_t>(i) * d;
    for (size_t j = 0; j < d; ++j) ++counts[row[j]];
  }
  uint64_t sum = 0;
  uint64_t squares = 0;
  for (uint64_t value = 0; value < counts.size(); ++value) {
    sum += value * counts[value];
    squares += value * value * counts[value];
  }
  const auto n = static_cast<double>(chosen.size() * d);
  const double mean = static_cast<double>(sum) / n;
  const double variance = static_cast<double>(squares) / n - mean * mean;
  return {static_cast<float>(mean / 255), variance > 0 ? static_cast<float>(std::sqrt(variance) / 255) : 1.0F};
}

// The names that classes get their numbers from: the checkpoint's, a built-in set's own order, or the sorted names of
// the source.
std::vector<std::string> ChooseClasses(const RawData& raw, const std::vector<std::string>& given) {
  if (!given.empty()) return given;
  std::vector<std::string> names = raw.train.label_names;
  if (!raw.fixed_classes) std::sort(names.begin(), names.end());
  return names;
}

// From a raw label to its class; -1: no such class.
std::vector<int64_t> MapLabels(const std::vector<std::string>& labels, const std::vector<std::string>& classes) {
  std::unordered_map<std::string, int64_t> numbers;
  for (size_t i = 0; i < classes.size(); ++i) numbers[classes[i]] = static_cast<int64_t>(i);
  std::vector<int64_t> map;
  for (const std::string& label : labels) {
    const auto found = numbers.find(label);
    map.push_back(found == numbers.end() ? -1 : found->second);
  }
  return map;
}

class SplitMaker {
 public:
  SplitMaker(const DataSpec& spec, const Dataset& data, PixelScale scale, const std::function<bool()>& should_stop)
      : spec_(spec), data_(data), scale_(scale), should_stop_(should_stop) {}

  absl::StatusOr<Split> Make(const RawSamples& raw, const std::vector<uint64_t>& hashes,
                             const std::vector<int64_t>& chosen, std::string_view field) const {
    Split split;
    split.feature_dim = raw.feature_dim;
    split.pixel_mean = scale_.mean;
    split.pixel_std = scale_.std;
    if (raw.has_text) split.token_offsets.push_back(0);
    const std::vector<int64_t> class_of =
        spec_.label_kind == LabelKind::kClass ? MapLabels(raw.label_names, data_.class_names) : std::vector<int64_t>{};
    const size_t values = chosen.size() * static_cast<size_t>(raw.feature_dim);
    if (!raw.features.empty()) split.features.reserve(values);
    if (!raw.pixels.empty()) split.pixels.reserve(values);
    for (const int64_t index : chosen) {
      const auto i = static_cast<size_t>(index);
      split.sample_hash.push_back(hashes[i]);
      AddContent(raw, i, &split);
      if (spec_.label_kind == LabelKind::kNumber) split.numbers.push_back(raw.numbers[i]);
      if (spec_.label_kind == LabelKind::kClass) {
        const int64_t number = class_of[static_cast<size_t>(raw.labels[i])];
        if (number < 0) {
          const std::string& label = raw.label_names[static_cast<size_t>(raw.labels[i])];
          return FieldError(field, UnknownClassText(label, data_.class_names.size()));
        }
        split.classes.push_back(number);
      }
      if (split.size() % kStopCheckEvery == 0 && should_stop_ && should_stop_()) return StoppedError();
    }
    return split;
  }

 private:
  void AddContent(const RawSamples& raw, size_t i, Split* split) const {
    const auto d = static_cast<std::ptrdiff_t>(raw.feature_dim);
    const auto at = static_cast<std::ptrdiff_t>(i) * d;
    if (raw.has_text) {
      data_.tokenizer.Encode(raw.texts[i], spec_.max_tokens, &split->tokens.own());
      split->token_offsets.push_back(static_cast<int64_t>(split->tokens.size()));
    } else if (!raw.pixels.empty()) {
      split->pixels.insert(split->pixels.end(), raw.pixels.begin() + at, raw.pixels.begin() + at + d);
    } else {
      split->features.insert(split->features.end(), raw.features.begin() + at, raw.features.begin() + at + d);
    }
  }

  const DataSpec& spec_;
  const Dataset& data_;
  PixelScale scale_;
  const std::function<bool()>& should_stop_;
};

template <typename T>
void HashArray(const Array<T>& values, Xxh3* hash) {
  const uint64_t n = values.size();
  hash->Update({reinterpret_cast<const char*>(&n), sizeof(n)});
  hash->Update({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

std::string Fingerprint(const Dataset& data) {
  Xxh3 hash;
  for (const Split* split : {&data.train, &data.valid}) {
    HashArray(split->sample_hash, &hash);
    HashArray(split->tokens, &hash);
    HashArray(split->token_offsets, &hash);
    HashArray(split->classes, &hash);
    HashArray(split->numbers, &hash);
  }
  return hash.Hex();
}

absl::Status CheckDivision(const RawData& raw, const Division& division, const DataSpec& spec) {
  if (!division.train.empty()) return absl::OkStatus();
  return FieldError(kSourceField, absl::StrCat(spec.source, ": no training sample: ", raw.train.size, " read, ",
                                               division.valid.size(), " of them held out for validation"));
}

absl::StatusOr<Tokenizer> ChooseTokenizer(const RawSamples& raw, const std::vector<int64_t>& chosen,
                                          const DataSpec& spec, const Tokenizer* given) {
  if (given != nullptr) return *given;
  DDP_ASSIGN_OR_RETURN(const std::optional<Tokenizer> named, NamedTokenizer(spec));
  return named ? *named : Tokenizer::Words(raw.texts, chosen, spec.vocab_size);
}

absl::StatusOr<Dataset> ReadDataset(const DataSpec& spec, const Tokenizer* tokenizer,
                                    const std::vector<std::string>& class_names,
                                    const std::function<bool()>& should_stop) {
  DDP_ASSIGN_OR_RETURN(const RawData raw, ReadSource(spec, should_stop));
  const std::vector<uint64_t> train_hashes = HashAll(raw.train);
  const std::vector<uint64_t> valid_hashes = raw.valid ? HashAll(*raw.valid) : std::vector<uint64_t>{};
  Division division = Divide(raw, train_hashes, spec);
  DDP_RETURN_IF_ERROR(CheckDivision(raw, division, spec));
  const PixelScale scale = raw.train.pixels.empty() ? PixelScale{} : MeasurePixels(raw.train, division.train);
  Limit(spec.limit, &division.train);

  Dataset data;
  data.image = raw.train.image;
  if (spec.label_kind == LabelKind::kClass) {
    data.class_names = ChooseClasses(raw, class_names);
    if (data.class_names.size() < 2) {
      return FieldError(kLabelField, absl::StrCat("only one class, \"", EscapeControls(data.class_names.at(0)),
                                                  "\": there is nothing to learn"));
    }
  }
  if (raw.train.has_text) {
    if (tokenizer != nullptr) DDP_RETURN_IF_ERROR(CheckTokenizerOf(*tokenizer, spec.source));
    DDP_ASSIGN_OR_RETURN(data.tokenizer, ChooseTokenizer(raw.train, division.train, spec, tokenizer));
  }
  const SplitMaker maker(spec, data, scale, should_stop);
  DDP_ASSIGN_OR_RETURN(data.train, maker.Make(raw.train, train_hashes, division.train, kSourceField));
  DDP_ASSIGN_OR_RETURN(data.valid,
                       maker.Make(raw.valid ? *raw.valid : raw.train, raw.valid ? valid_hashes : train_hashes,
                                  division.valid, raw.valid ? kValidField : kSourceField));
  if (spec.source == "fashion-mnist") data.image = {.channels = 1, .height = 28, .width = 28};
  data.fingerprint = Fingerprint(data);
  return data;
}

absl::StatusOr<Dataset> OpenTokens(const DataSpec& spec, const Tokenizer* given) {
  DDP_RETURN_IF_ERROR(CheckFormat(spec, Format::kTokens));
  if (given != nullptr) DDP_RETURN_IF_ERROR(CheckTokenizerOf(*given, spec.source));
  Dataset data;
  data.tokenizer = given != nullptr ? *given : Tokenizer::Ids(spec.vocab_size);
  DDP_ASSIGN_OR_RETURN(TokenData tokens, OpenTokenWindows(spec, data.tokenizer.vocab_size()));
  data.train.windows = std::move(tokens.train);
  data.valid.windows = std::move(tokens.valid);
  data.fingerprint = std::move(tokens.fingerprint);
  return data;
}

}  // namespace

absl::StatusOr<std::optional<Tokenizer>> NamedTokenizer(const DataSpec& spec) {
  constexpr std::string_view kPrefix = "sentencepiece:";
  if (spec.tokenizer == "bytes") return Tokenizer::Bytes();
  if (!std::string_view(spec.tokenizer).starts_with(kPrefix)) return std::optional<Tokenizer>();
  const std::string path = spec.tokenizer.substr(kPrefix.size());
  absl::StatusOr<InputFile> file = ReadInput(path, kMaxModelBytes);
  if (!file.ok()) return FieldError(kTokenizerField, file.status());
  if (!file->whole) return FieldError(kTokenizerField, absl::StrCat(path, " is larger than any SentencePiece model"));
  absl::StatusOr<Tokenizer> tokenizer = Tokenizer::SentencePiece(std::move(file->content));
  if (tokenizer.ok()) return *std::move(tokenizer);
  return FieldError(kTokenizerField, absl::StrCat(path, ": ", tokenizer.status().message()));
}

absl::Status CheckTokenizerOf(const Tokenizer& tokenizer, const std::string& source) {
  const bool tokens = FormatOf(source) == Format::kTokens;
  if (tokens != tokenizer.reads_text()) return absl::OkStatus();
  return FieldError(
      kInitFromField,
      tokens ? absl::StrCat("its tokenizer is ", std::string(tokenizer.name()), ", whose numbers are not those of ",
                            source, ": name text as the data, or start from a job that was trained on token files")
             : absl::StrCat("it was trained on token files and cannot read the text of ", source,
                            ": name a .bin file of tokens of the same vocabulary as the data, or start from a job that "
                            "was trained on text"));
}

std::string UnknownClassText(const std::string& label, size_t classes) {
  return absl::StrCat("the label \"", EscapeControls(label), "\" is none of the ", classes,
                      " classes that the model knows");
}

absl::StatusOr<Dataset> LoadDataset(const DataSpec& spec, const Tokenizer* tokenizer,
                                    const std::vector<std::string>& class_names,
                                    const std::function<bool()>& should_stop, const std::string& cache_folder) {
  if (FormatOf(spec.source) == Format::kTokens) return OpenTokens(spec, tokenizer);
  if (cache_folder.empty()) return ReadDataset(spec, tokenizer, class_names, should_stop);
  const TokenCache cache(cache_folder, spec, tokenizer, class_names);
  if (std::optional<Dataset> kept = cache.Find()) return *std::move(kept);
  absl::StatusOr<Dataset> data = ReadDataset(spec, tokenizer, class_names, should_stop);
  if (data.ok()) cache.Keep(*data);
  return data;
}

}  // namespace ddp
