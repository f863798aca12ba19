#include "worker/data/source.h"

#include <limits>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/str_cat.h"
#include "common/data_files.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "worker/data/array_files.h"
#include "worker/data/array_samples.h"
#include "worker/data/fashion_mnist.h"
#include "worker/data/jsonl.h"
#include "worker/data/table.h"
#include "worker/data/text_lines.h"
#include "worker/data/wordnet.h"
#include "worker/formats/input_file.h"

namespace ddp {

namespace {

constexpr int64_t kAllRows = std::numeric_limits<int64_t>::max();
constexpr size_t kAllBytes = std::numeric_limits<size_t>::max();

absl::StatusOr<RawSamples> ReadAll(const std::string& path, Format format, const DataSpec& spec, bool is_train,
                                   const StopCheck& should_stop) {
  if (IsArrayFormat(format))
    return ReadArrays(is_train ? TrainArrays(spec, format) : ValidArrays(spec, format), spec, format);
  return ReadRows(path, format, spec, is_train ? kSourceField : kValidField, kAllBytes, kAllRows, should_stop);
}

absl::StatusOr<RawData> ReadFiles(const DataSpec& spec, Format format, const StopCheck& should_stop) {
  RawData data;
  DDP_RETURN_IF_ERROR(CheckFormat(spec, format));
  DDP_ASSIGN_OR_RETURN(data.train, ReadAll(spec.source, format, spec, /*is_train=*/true, should_stop));
  data.fixed_classes = IsArrayFormat(format);  // in the order of their numbers
  if (!spec.valid.empty() && spec.valid != "none") {
    DDP_ASSIGN_OR_RETURN(data.valid, ReadAll(spec.valid, format, spec, /*is_train=*/false, should_stop));
    DDP_RETURN_IF_ERROR(CheckPair(data.train, *data.valid, spec));
  }
  return data;
}

}  // namespace

absl::StatusOr<RawSamples> ReadRows(const std::string& path, Format format, const DataSpec& spec,
                                    std::string_view field, size_t max_bytes, int64_t max_rows,
                                    const StopCheck& should_stop) {
  const absl::StatusOr<InputFile> file = ReadInput(path, max_bytes);
  if (!file.ok()) return FieldError(field, file.status());
  if (format == Format::kTextLines) return ReadTextLines(path, *file, field, max_rows, should_stop);
  absl::StatusOr<RawSamples> samples = format == Format::kJsonLines
                                           ? ReadJsonLines(path, *file, spec, field, max_rows, should_stop)
                                           : ReadTable(path, *file, spec, field, max_rows, should_stop);
  if (!samples.ok()) return samples;
  DDP_RETURN_IF_ERROR(ApplyImageShape(spec, path, &*samples));
  return samples;
}

absl::Status CheckPair(const RawSamples& train, const RawSamples& valid, const DataSpec& spec) {
  if (train.feature_dim != valid.feature_dim || train.pixels.empty() != valid.pixels.empty()) {
    const auto form = [](const RawSamples& samples) {
      return absl::StrCat(samples.feature_dim, samples.pixels.empty() ? " numbers" : " pixels (uint8)");
    };
    return FieldError(kValidField, absl::StrCat("a sample of ", spec.valid, " has ", form(valid), ", one of ",
                                                spec.source, " has ", form(train)));
  }
  return absl::OkStatus();
}

absl::Status UnknownSource(const std::string& source) {
  return FieldError(kSourceField,
                    absl::StrCat("unknown data \"", EscapeControls(source),
                                 "\": choose wordnet, wordnet:noun|verb|adj|adv, fashion-mnist or a file whose "
                                 "name ends with one of ",
                                 DataFileEndings()));
}

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
    return FieldError(field, absl::StrCat("is for files; ", spec.source, " is built in and needs none"));
  };
  if (!spec.text_column.empty()) return unused(kTextField);
  if (!spec.feature_columns.empty()) return unused(kFeaturesField);
  if (!spec.label_column.empty()) return unused(kLabelField);
  if (!spec.labels.empty()) return unused(kLabelsField);
  if (!spec.valid_labels.empty()) return unused(kValidLabelsField);
  if (!spec.image_shape.empty()) return unused(kImageShapeField);
  if (!spec.token_type.empty()) return unused(kTokenTypeField);
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
  const std::optional<Format> format = FormatOf(spec.source);
  if (!format) return UnknownSource(spec.source);
  return ReadFiles(spec, *format, should_stop);
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
