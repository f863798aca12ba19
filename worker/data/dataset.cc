#include "worker/data/dataset.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "worker/data/source.h"

namespace ddp {

namespace {

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
  if (spec.limit > 0 && spec.limit < static_cast<int64_t>(division.train.size())) {
    division.train.resize(static_cast<size_t>(spec.limit));
  }
  return division;
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
  SplitMaker(const DataSpec& spec, const Dataset& data, const std::function<bool()>& should_stop)
      : spec_(spec), data_(data), should_stop_(should_stop) {}

  absl::StatusOr<Split> Make(const RawSamples& raw, const std::vector<uint64_t>& hashes,
                             const std::vector<int64_t>& chosen, std::string_view field) const {
    Split split;
    split.feature_dim = raw.feature_dim;
    split.pixel_mean = raw.pixel_mean;
    split.pixel_std = raw.pixel_std;
    if (raw.has_text) split.token_offsets.push_back(0);
    const std::vector<int64_t> class_of =
        spec_.label_kind == LabelKind::kClass ? MapLabels(raw.label_names, data_.class_names) : std::vector<int64_t>{};
    for (const int64_t index : chosen) {
      const auto i = static_cast<size_t>(index);
      split.sample_hash.push_back(hashes[i]);
      AddContent(raw, i, &split);
      if (spec_.label_kind == LabelKind::kNumber) split.numbers.push_back(raw.numbers[i]);
      if (spec_.label_kind == LabelKind::kClass) {
        const int64_t number = class_of[static_cast<size_t>(raw.labels[i])];
        if (number < 0) return UnknownClass(field, raw.label_names[static_cast<size_t>(raw.labels[i])]);
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
      data_.tokenizer.Encode(raw.texts[i], spec_.max_tokens, &split->tokens);
      split->token_offsets.push_back(static_cast<int64_t>(split->tokens.size()));
    } else if (!raw.pixels.empty()) {
      split->pixels.insert(split->pixels.end(), raw.pixels.begin() + at, raw.pixels.begin() + at + d);
    } else {
      split->features.insert(split->features.end(), raw.features.begin() + at, raw.features.begin() + at + d);
    }
  }

  absl::Status UnknownClass(std::string_view field, const std::string& label) const {
    return FieldError(field, absl::StrCat("the label \"", EscapeControls(label), "\" is none of the ",
                                          data_.class_names.size(), " classes that the model knows"));
  }

  const DataSpec& spec_;
  const Dataset& data_;
  const std::function<bool()>& should_stop_;
};

template <typename T>
void HashVector(XXH3_state_t* state, const std::vector<T>& values) {
  const uint64_t n = values.size();
  XXH3_128bits_update(state, &n, sizeof(n));
  XXH3_128bits_update(state, values.data(), values.size() * sizeof(T));
}

std::string Fingerprint(const Dataset& data) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (const Split* split : {&data.train, &data.valid}) {
    HashVector(&state, split->sample_hash);
    HashVector(&state, split->tokens);
    HashVector(&state, split->token_offsets);
    HashVector(&state, split->classes);
    HashVector(&state, split->numbers);
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return absl::StrFormat("%016x%016x", hash.high64, hash.low64);
}

absl::Status CheckDivision(const RawData& raw, const Division& division, const DataSpec& spec) {
  if (!division.train.empty()) return absl::OkStatus();
  return FieldError(kSourceField, absl::StrCat(spec.source, ": no training sample: ", raw.train.size, " read, ",
                                               division.valid.size(), " of them held out for validation"));
}

}  // namespace

absl::StatusOr<Dataset> LoadDataset(const DataSpec& spec, const Tokenizer* tokenizer,
                                    const std::vector<std::string>& class_names,
                                    const std::function<bool()>& should_stop) {
  DDP_ASSIGN_OR_RETURN(const RawData raw, ReadSource(spec, should_stop));
  const std::vector<uint64_t> train_hashes = HashAll(raw.train);
  const std::vector<uint64_t> valid_hashes = raw.valid ? HashAll(*raw.valid) : std::vector<uint64_t>{};
  const Division division = Divide(raw, train_hashes, spec);
  DDP_RETURN_IF_ERROR(CheckDivision(raw, division, spec));

  Dataset data;
  if (spec.label_kind == LabelKind::kClass) {
    data.class_names = ChooseClasses(raw, class_names);
    if (data.class_names.size() < 2) {
      return FieldError(kLabelField, absl::StrCat("only one class, \"", EscapeControls(data.class_names.at(0)),
                                                  "\": there is nothing to learn"));
    }
  }
  if (raw.train.has_text) {
    data.tokenizer = tokenizer != nullptr        ? *tokenizer
                     : spec.tokenizer == "bytes" ? Tokenizer::Bytes()
                                                 : Tokenizer::Words(raw.train.texts, division.train, spec.vocab_size);
  }
  const SplitMaker maker(spec, data, should_stop);
  DDP_ASSIGN_OR_RETURN(data.train, maker.Make(raw.train, train_hashes, division.train, kSourceField));
  DDP_ASSIGN_OR_RETURN(data.valid,
                       maker.Make(raw.valid ? *raw.valid : raw.train, raw.valid ? valid_hashes : train_hashes,
                                  division.valid, raw.valid ? kValidField : kSourceField));
  if (spec.source == "fashion-mnist") data.image = {.channels = 1, .height = 28, .width = 28};
  data.fingerprint = Fingerprint(data);
  return data;
}

}  // namespace ddp
