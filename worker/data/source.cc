#include "worker/data/source.h"

#include <limits>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "worker/data/idx.h"
#include "worker/data/input_file.h"
#include "worker/data/table.h"
#include "worker/data/wordnet.h"

namespace ddp {

namespace {

constexpr int64_t kAllRows = std::numeric_limits<int64_t>::max();

absl::StatusOr<RawSamples> ReadTableFile(const std::string& path, const DataSpec& spec, std::string_view field,
                                         const StopCheck& should_stop) {
  absl::StatusOr<InputFile> file = ReadInput(path);
  if (!file.ok()) return FieldError(field, file.status());
  return ReadTable(path, *file, spec, field, kAllRows, should_stop);
}

}  // namespace

absl::StatusOr<std::optional<std::string>> WordnetPart(const std::string& source) {
  if (source == "wordnet") return std::string();
  if (source.rfind("wordnet:", 0) != 0) return std::optional<std::string>();
  std::string part = source.substr(8);
  if (part == "noun" || part == "verb" || part == "adj" || part == "adv") return part;
  return FieldError(kSourceField, absl::StrCat("unknown part of WordNet \"", EscapeControls(part),
                                               "\": choose wordnet:noun, wordnet:verb, wordnet:adj or wordnet:adv"));
}

absl::Status CheckBuiltinSpec(const DataSpec& spec) {
  const auto unused = [&](std::string_view field) {
    return FieldError(field, absl::StrCat("is for CSV and TSV files; ", spec.source, " has no columns"));
  };
  if (!spec.text_column.empty()) return unused(kTextField);
  if (!spec.feature_columns.empty()) return unused(kFeaturesField);
  if (!spec.label_column.empty()) return unused(kLabelField);
  if (!spec.valid.empty() && spec.valid != "none") {
    return FieldError(kValidField, absl::StrCat("a second file cannot go with the built-in set ", spec.source,
                                                "; leave it empty, or \"none\""));
  }
  if (spec.label_kind == LabelKind::kNumber) {
    return FieldError("training.objective",
                      absl::StrCat("regression needs numbers to learn; ", spec.source, " has classes"));
  }
  return absl::OkStatus();
}

absl::StatusOr<RawData> ReadSource(const DataSpec& spec, const StopCheck& should_stop) {
  DDP_ASSIGN_OR_RETURN(const std::optional<std::string> part, WordnetPart(spec.source));
  RawData data;
  if (part) {
    DDP_RETURN_IF_ERROR(CheckBuiltinSpec(spec));
    absl::StatusOr<RawSamples> samples = ReadWordnet(kWordnetFolder, *part, kAllRows, should_stop);
    if (!samples.ok()) return FieldError(kSourceField, samples.status());
    data.train = *std::move(samples);
    data.fixed_classes = true;
    data.order_by_hash = true;
    return data;
  }
  if (spec.source == "fashion-mnist") {
    DDP_RETURN_IF_ERROR(CheckBuiltinSpec(spec));
    absl::StatusOr<RawData> images = ReadFashionMnist(kFashionMnistFolder);
    if (!images.ok()) return FieldError(kSourceField, images.status());
    return images;
  }
  if (!IsTablePath(spec.source)) {
    return FieldError(
        kSourceField,
        absl::StrCat("unknown data \"", EscapeControls(spec.source),
                     "\": choose wordnet, wordnet:noun|verb|adj|adv, fashion-mnist or a .csv or .tsv file"));
  }
  DDP_ASSIGN_OR_RETURN(data.train, ReadTableFile(spec.source, spec, kSourceField, should_stop));
  if (!spec.valid.empty() && spec.valid != "none") {
    DDP_ASSIGN_OR_RETURN(data.valid, ReadTableFile(spec.valid, spec, kValidField, should_stop));
  }
  return data;
}

bool HeldOut(uint64_t hash, double fraction) {
  return static_cast<double>(hash) < fraction * 18446744073709551616.0;  // 2^64
}

uint64_t ContentHash(const RawSamples& samples, int64_t index) {
  const auto i = static_cast<size_t>(index);
  if (samples.has_text) {
    const std::string_view text = samples.texts[i];
    return XXH3_64bits(text.data(), text.size());
  }
  const auto d = static_cast<size_t>(samples.feature_dim);
  if (!samples.pixels.empty()) return XXH3_64bits(samples.pixels.data() + i * d, d);
  return XXH3_64bits(samples.features.data() + i * d, d * sizeof(float));
}

}  // namespace ddp
