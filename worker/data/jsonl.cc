#include "worker/data/jsonl.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "worker/data/text_lines.h"

namespace ddp {

namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 100;

// The object of one line. Only its own keys are looked at for repeats.
absl::StatusOr<Json> ParseLine(std::string_view line) {
  std::set<std::string> keys;
  std::string repeated;
  bool deep = false;
  const auto callback = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMaxDepth) deep = true;
    if (event == Json::parse_event_t::key && depth == 1 && !keys.insert(parsed.get<std::string>()).second) {
      repeated = parsed.get<std::string>();
    }
    return !deep;
  };
  Json json = Json::parse(line.begin(), line.end(), callback, /*allow_exceptions=*/false);
  if (deep) return absl::InvalidArgumentError(absl::StrCat("nested deeper than ", kMaxDepth, " levels"));
  if (json.is_discarded()) return absl::InvalidArgumentError("no JSON, or more than one value");
  if (!json.is_object()) return absl::InvalidArgumentError(absl::StrCat("no JSON object, but ", json.type_name()));
  if (!repeated.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the key \"", EscapeControls(repeated), "\" stands twice"));
  }
  return json;
}

// What a value is called in errors; numbers by their value.
std::string Shown(const Json& value) {
  if (value.is_structured()) return value.is_array() ? "an array" : "an object";
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() > 40 ? absl::StrCat(std::string(CutUtf8(text, 40)), "...") : text;
}

class Rows {
 public:
  Rows(const DataSpec& spec, const LineReader& lines, RawSamples* samples)
      : spec_(spec), lines_(lines), samples_(samples) {}

  absl::Status Add(const Json& row) {
    if (!spec_.text_column.empty()) {
      DDP_ASSIGN_OR_RETURN(const Json* text, Find(row, kTextField, spec_.text_column));
      if (!text->is_string()) return Wrong(kTextField, spec_.text_column, *text, "no string");
      samples_->texts.Add(text->get_ref<const std::string&>());
    }
    for (const std::string& column : spec_.feature_columns) {
      DDP_ASSIGN_OR_RETURN(const double value, Number(row, kFeaturesField, column));
      samples_->features.push_back(static_cast<float>(value));
      if (!std::isfinite(samples_->features.back())) {
        return Wrong(kFeaturesField, column, *row.find(column), "too large for a float32");
      }
    }
    if (spec_.label_kind == LabelKind::kNumber) {
      DDP_ASSIGN_OR_RETURN(const double value, Number(row, kLabelField, spec_.label_column));
      samples_->numbers.push_back(value);
    }
    return spec_.label_kind == LabelKind::kClass ? AddClass(row) : absl::OkStatus();
  }

 private:
  absl::StatusOr<const Json*> Find(const Json& row, std::string_view field, const std::string& column) const {
    const auto found = row.find(column);
    if (found != row.end()) return &*found;
    std::vector<std::string> keys;
    for (const auto& item : row.items()) keys.push_back(item.key());
    const std::string near = NearestName(column, keys);
    return FieldError(field, lines_.Error(absl::StrCat(
                                 "no key \"", EscapeControls(column), "\"",
                                 near.empty() ? "" : absl::StrCat("; did you mean \"", EscapeControls(near), "\"?"))));
  }

  absl::StatusOr<double> Number(const Json& row, std::string_view field, const std::string& column) const {
    DDP_ASSIGN_OR_RETURN(const Json* value, Find(row, field, column));
    if (!value->is_number()) return Wrong(field, column, *value, "no number");
    return value->get<double>();  // the parser refuses what no double holds
  }

  // Strings, whole numbers and booleans name classes; all rows have the kind of the first.
  absl::Status AddClass(const Json& row) {
    DDP_ASSIGN_OR_RETURN(const Json* value, Find(row, kLabelField, spec_.label_column));
    const bool known = value->is_string() || value->is_number_integer() || value->is_boolean();
    if (!known) return Wrong(kLabelField, spec_.label_column, *value, "no string, whole number or boolean");
    const char* kind = value->type_name();
    if (kind_.empty()) kind_ = kind;
    if (kind_ != kind) return Wrong(kLabelField, spec_.label_column, *value, absl::StrCat("no ", kind_, " as above"));
    const std::string name = value->is_string() ? value->get<std::string>() : value->dump();
    if (name.empty()) return Wrong(kLabelField, spec_.label_column, *value, "empty");
    const auto [entry, is_new] = classes_.try_emplace(name, static_cast<int32_t>(samples_->label_names.size()));
    if (is_new) samples_->label_names.push_back(name);
    samples_->labels.push_back(entry->second);
    return absl::OkStatus();
  }

  absl::Status Wrong(std::string_view field, const std::string& column, const Json& value,
                     const std::string& what) const {
    return FieldError(field, lines_.Error(absl::StrCat("key \"", EscapeControls(column),
                                                       "\": ", EscapeControls(Shown(value)), " is ", what)));
  }

  const DataSpec& spec_;
  const LineReader& lines_;
  RawSamples* samples_;
  std::string kind_;  // of the first label
  std::unordered_map<std::string, int32_t> classes_;
};

absl::Status CheckColumns(const std::string& path, const DataSpec& spec) {
  if (spec.text_column.empty() && spec.feature_columns.empty()) {
    return FieldError(kTextField, absl::StrCat("not given: name the key of ", path,
                                               " that holds the text, or keys with "
                                               "numbers in feature_columns"));
  }
  if (!spec.text_column.empty() && !spec.feature_columns.empty()) {
    return FieldError(kFeaturesField, "give a text column or feature columns, not both");
  }
  if (spec.label_kind != LabelKind::kNone && spec.label_column.empty()) {
    return FieldError(kLabelField, absl::StrCat("not given: name the key of ", path, " to learn"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RawSamples> ReadJsonLines(const std::string& path, const InputFile& file, const DataSpec& spec,
                                         std::string_view path_field, int64_t max_rows, const StopCheck& should_stop) {
  DDP_RETURN_IF_ERROR(CheckColumns(path, spec));
  RawSamples samples;
  samples.has_text = !spec.text_column.empty();
  samples.feature_dim = static_cast<int64_t>(spec.feature_columns.size());
  samples.whole = file.whole;
  LineReader lines(file.content, path, file.whole);
  Rows rows(spec, lines, &samples);
  const auto add = [&]() -> absl::Status {
    const absl::StatusOr<Json> row = ParseLine(lines.line());
    if (!row.ok()) return FieldError(path_field, lines.Error(std::string(row.status().message())));
    return rows.Add(*row);
  };
  DDP_RETURN_IF_ERROR(AddLines(lines, path_field, max_rows, should_stop, add, &samples));
  if (samples.size == 0 && samples.whole) return FieldError(path_field, absl::StrCat(path, " holds no line"));
  return samples;
}

}  // namespace ddp
