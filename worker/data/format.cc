#include "worker/data/format.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "worker/data/raw_samples.h"

namespace ddp {

namespace {

constexpr std::array<std::pair<std::string_view, Format>, 13> kEndings{{{".csv", Format::kTable},
                                                                        {".tsv", Format::kTable},
                                                                        {".jsonl", Format::kJsonLines},
                                                                        {".txt", Format::kTextLines},
                                                                        {".idx", Format::kIdx},
                                                                        {".idx.gz", Format::kIdx},
                                                                        {"-ubyte", Format::kIdx},
                                                                        {".ubyte", Format::kIdx},
                                                                        {"-ubyte.gz", Format::kIdx},
                                                                        {".npy", Format::kNpy},
                                                                        {".npz", Format::kNpz},
                                                                        {".safetensors", Format::kSafetensors},
                                                                        {".bin", Format::kTokens}}};

std::string_view NameOf(Format format) {
  switch (format) {
    case Format::kTable:
      return "a CSV or TSV file";
    case Format::kJsonLines:
      return "a file of JSON lines";
    case Format::kTextLines:
      return "a text file";
    case Format::kIdx:
      return "an IDX file";
    case Format::kNpy:
      return "a .npy file";
    case Format::kNpz:
      return "a .npz file";
    case Format::kSafetensors:
      return "a safetensors file";
    case Format::kTokens:
      return "a file of tokens";
  }
  return "?";
}

bool HasColumns(Format format) { return format == Format::kTable || format == Format::kJsonLines; }
bool HasNamedArrays(Format format) { return format == Format::kNpz || format == Format::kSafetensors; }
bool HasLabelFile(Format format) { return format == Format::kIdx || format == Format::kNpy; }

absl::Status CheckLabels(const DataSpec& spec, Format format) {
  if (!HasLabelFile(format)) {
    for (const auto& [field, value] :
         {std::pair{kLabelsField, &spec.labels}, {kValidLabelsField, &spec.valid_labels}}) {
      if (value->empty()) continue;
      return FieldError(field,
                        absl::StrCat("is for IDX and .npy files; ", spec.source, " is ", std::string(NameOf(format)),
                                     HasColumns(format) || HasNamedArrays(format) ? ": use label_column" : ""));
    }
    return absl::OkStatus();
  }
  const bool second = !spec.valid.empty() && spec.valid != "none";
  if (!second && !spec.valid_labels.empty()) {
    return FieldError(kValidLabelsField, "is for the labels of a second file; training.data.valid names none");
  }
  if (spec.label_kind == LabelKind::kNone) return absl::OkStatus();
  if (spec.labels.empty()) {
    return FieldError(kLabelsField, absl::StrCat("not given: name the file with the labels of ", spec.source));
  }
  if (second && spec.valid_labels.empty()) {
    return FieldError(kValidLabelsField, absl::StrCat("not given: name the file with the labels of ", spec.valid));
  }
  for (const auto& [field, path] : {std::pair{kLabelsField, &spec.labels}, {kValidLabelsField, &spec.valid_labels}}) {
    if (path->empty() || FormatOf(*path) == format) continue;
    return FieldError(field, absl::StrCat(EscapeControls(*path), " must be ", std::string(NameOf(format)), ", as ",
                                          spec.source, " is"));
  }
  return absl::OkStatus();
}

absl::Status CheckColumns(const DataSpec& spec, Format format) {
  const auto unused = [&](std::string_view field) {
    return FieldError(field, absl::StrCat("does not apply: ", spec.source, " is ", std::string(NameOf(format)),
                                          ", which has no named columns"));
  };
  const bool text = HasColumns(format);
  const bool named = text || HasNamedArrays(format);
  if (!text && !spec.text_column.empty()) return unused(kTextField);
  if (!named && !spec.feature_columns.empty()) return unused(kFeaturesField);
  if (!named && !spec.label_column.empty()) return unused(kLabelField);
  if (HasNamedArrays(format) && spec.feature_columns.size() > 1) {
    return FieldError(kFeaturesField, absl::StrCat("names ", spec.feature_columns.size(), " arrays of ", spec.source,
                                                   "; one is needed, the samples along its first dimension"));
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<Format> FormatOf(std::string_view path) {
  for (const auto& [ending, format] : kEndings) {
    if (path.size() > ending.size() && path.ends_with(ending)) return format;
  }
  return std::nullopt;
}

bool IsArrayFormat(Format format) { return HasNamedArrays(format) || HasLabelFile(format); }

absl::Status CheckFormat(const DataSpec& spec, Format format) {
  if (!spec.valid.empty() && spec.valid != "none" && FormatOf(spec.valid) != format) {
    return FieldError(kValidField, absl::StrCat("\"", EscapeControls(spec.valid), "\" must be \"none\" or ",
                                                std::string(NameOf(format)), ", as ", spec.source, " is"));
  }
  DDP_RETURN_IF_ERROR(CheckColumns(spec, format));
  DDP_RETURN_IF_ERROR(CheckLabels(spec, format));
  const bool features = IsArrayFormat(format) || (HasColumns(format) && spec.text_column.empty());
  if (!spec.image_shape.empty() && !features) {
    return FieldError(kImageShapeField, absl::StrCat("does not apply: ", spec.source, " holds text, no images"));
  }
  if (!spec.token_type.empty() && format != Format::kTokens) {
    return FieldError(kTokenTypeField, absl::StrCat("is for files of tokens (.bin); ", spec.source, " is ",
                                                    std::string(NameOf(format))));
  }
  const bool unlabelled = format == Format::kTextLines || format == Format::kTokens;
  if (unlabelled && spec.label_kind != LabelKind::kNone) {
    return FieldError("training.objective", absl::StrCat("needs labels, and ", spec.source, " is ",
                                                         std::string(NameOf(format)), ", which has none"));
  }
  return absl::OkStatus();
}

}  // namespace ddp
