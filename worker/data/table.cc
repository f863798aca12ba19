#include "worker/data/table.h"

#include <charconv>
#include <cmath>
#include <unordered_map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "worker/data/csv.h"

namespace ddp {

namespace {

constexpr size_t kShownBytes = 40;  // of a wrong value

std::string Shown(std::string_view value) {
  return absl::StrCat("\"", EscapeControls(value.substr(0, kShownBytes)), value.size() > kShownBytes ? "..." : "",
                      "\"");
}

struct Columns {
  int text = -1;
  std::vector<int> features;
  int label = -1;
};

class Header {
 public:
  Header(const std::vector<CsvField>& fields, std::string path) : path_(std::move(path)) {
    for (const CsvField& field : fields) names_.emplace_back(field.value);
  }

  absl::StatusOr<int> Find(std::string_view field, const std::string& name) const {
    int found = -1;
    for (size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] != name) continue;
      if (found >= 0)
        return FieldError(field, absl::StrCat(path_, ":1: the column \"", name, "\" stands twice in the header"));
      found = static_cast<int>(i);
    }
    if (found >= 0) return found;
    const std::string near = NearestName(name, names_);
    return FieldError(field, absl::StrCat(path_, " has no column \"", EscapeControls(name), "\"; its columns are ",
                                          List(), near.empty() ? "" : absl::StrCat(". Did you mean \"", near, "\"?")));
  }

  std::string List() const {
    constexpr size_t kShown = 20;
    std::string text;
    for (size_t i = 0; i < names_.size() && i < kShown; ++i)
      absl::StrAppend(&text, i == 0 ? "" : ", ", Shown(names_[i]));
    if (names_.size() > kShown) absl::StrAppend(&text, " and ", names_.size() - kShown, " more");
    return text;
  }

 private:
  std::string path_;
  std::vector<std::string> names_;
};

absl::StatusOr<Columns> FindColumns(const Header& header, const std::string& path, const DataSpec& spec) {
  Columns columns;
  if (spec.text_column.empty() && spec.feature_columns.empty()) {
    return FieldError(kTextField, absl::StrCat("not given: name a text column or feature columns of ", path,
                                               "; its columns are ", header.List()));
  }
  if (!spec.text_column.empty() && !spec.feature_columns.empty()) {
    return FieldError(kFeaturesField, "give a text column or feature columns, not both");
  }
  if (!spec.text_column.empty()) {
    DDP_ASSIGN_OR_RETURN(columns.text, header.Find(kTextField, spec.text_column));
  }
  for (const std::string& name : spec.feature_columns) {
    DDP_ASSIGN_OR_RETURN(const int column, header.Find(kFeaturesField, name));
    columns.features.push_back(column);
  }
  if (spec.label_kind != LabelKind::kNone) {
    if (spec.label_column.empty()) {
      return FieldError(kLabelField, absl::StrCat("not given: name the column of ", path, " to learn; its columns are ",
                                                  header.List()));
    }
    DDP_ASSIGN_OR_RETURN(columns.label, header.Find(kLabelField, spec.label_column));
  }
  return columns;
}

template <typename Number>
bool ParseFinite(std::string_view text, Number* value) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(*value);
}

class RowReader {
 public:
  RowReader(const CsvReader& csv, const DataSpec& spec, const Columns& columns, RawSamples* samples)
      : csv_(csv), spec_(spec), columns_(columns), samples_(samples) {}

  absl::Status Read() {
    if (columns_.text >= 0) {
      const CsvField& field = At(columns_.text);
      const size_t bad = FindInvalidUtf8(field.value);
      if (bad != std::string_view::npos) {
        return FieldError(kTextField,
                          csv_.Error(absl::StrCat("column \"", spec_.text_column, "\" is not valid UTF-8")));
      }
      samples_->texts.Add(field.value);
    }
    for (size_t i = 0; i < columns_.features.size(); ++i) {
      float value = 0;
      const CsvField& field = At(columns_.features[i]);
      if (!ParseFinite(field.value, &value)) return NotANumber(kFeaturesField, spec_.feature_columns[i], field);
      samples_->features.push_back(value);
    }
    return columns_.label >= 0 ? ReadLabel(At(columns_.label)) : absl::OkStatus();
  }

 private:
  const CsvField& At(int column) const { return csv_.fields()[static_cast<size_t>(column)]; }

  absl::Status NotANumber(std::string_view field, const std::string& column, const CsvField& value) const {
    return FieldError(
        field, csv_.Error(absl::StrCat("column \"", column, "\": ", Shown(value.value), " is not a finite number")));
  }

  absl::Status ReadLabel(const CsvField& field) {
    if (spec_.label_kind == LabelKind::kNumber) {
      double number = 0;
      if (!ParseFinite(field.value, &number)) return NotANumber(kLabelField, spec_.label_column, field);
      samples_->numbers.push_back(number);
      return absl::OkStatus();
    }
    if (field.value.empty()) {
      return FieldError(kLabelField, csv_.Error(absl::StrCat("column \"", spec_.label_column, "\" is empty")));
    }
    if (!IsValidUtf8(field.value)) {
      return FieldError(kLabelField,
                        csv_.Error(absl::StrCat("column \"", spec_.label_column, "\" is not valid UTF-8")));
    }
    const auto [entry, is_new] =
        label_index_.try_emplace(std::string(field.value), static_cast<int32_t>(samples_->label_names.size()));
    if (is_new) samples_->label_names.push_back(entry->first);
    samples_->labels.push_back(entry->second);
    return absl::OkStatus();
  }

  const CsvReader& csv_;
  const DataSpec& spec_;
  const Columns& columns_;
  RawSamples* samples_;
  std::unordered_map<std::string, int32_t> label_index_;
};

}  // namespace

absl::StatusOr<RawSamples> ReadTable(const std::string& path, const InputFile& file, const DataSpec& spec,
                                     std::string_view path_field, int64_t max_rows, const StopCheck& should_stop) {
  CsvReader csv(file.content, path, absl::EndsWith(path, ".tsv") ? '\t' : ',', file.whole);
  const auto next = [&]() -> absl::StatusOr<bool> {
    absl::StatusOr<bool> more = csv.Next();
    if (!more.ok()) return FieldError(path_field, more.status());
    return more;
  };
  DDP_ASSIGN_OR_RETURN(const bool has_header, next());
  if (!has_header) return FieldError(path_field, absl::StrCat(path, " is empty: the first line must name the columns"));
  DDP_ASSIGN_OR_RETURN(const Columns columns, FindColumns(Header(csv.fields(), path), path, spec));

  RawSamples samples;
  samples.has_text = columns.text >= 0;
  samples.feature_dim = static_cast<int64_t>(columns.features.size());
  samples.whole = file.whole;
  RowReader row(csv, spec, columns, &samples);
  for (;;) {
    DDP_ASSIGN_OR_RETURN(const bool more, next());
    if (!more) break;
    if (samples.size == max_rows) {
      samples.whole = false;
      break;
    }
    DDP_RETURN_IF_ERROR(row.Read());
    if (++samples.size % kStopCheckEvery == 0 && should_stop && should_stop()) return StoppedError();
  }
  return samples;
}

}  // namespace ddp
