#include "client/output.h"

#include <google/protobuf/util/json_util.h>
#include <yaml-cpp/yaml.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ddp {

namespace {

std::string Json(const google::protobuf::Message& message, bool everything) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = everything;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = everything;
  std::string text;
  // Fails only for malformed timestamps, which ours are not.
  if (!google::protobuf::util::MessageToJsonString(message, &text, options).ok()) return "{}";
  return text;
}

void UseBlockStyle(YAML::Node node) {
  if (node.IsMap() || node.IsSequence()) node.SetStyle(YAML::EmitterStyle::Block);
  if (node.IsMap()) {
    for (auto item : node) UseBlockStyle(item.second);
  } else if (node.IsSequence()) {
    for (auto item : node) UseBlockStyle(item);
  }
}

}  // namespace

std::string ToJson(const google::protobuf::Message& message) { return Json(message, /*everything=*/true); }

std::string ToYaml(const google::protobuf::Message& message) {
  // JSON is YAML.
  YAML::Node node = YAML::Load(Json(message, /*everything=*/false));
  UseBlockStyle(node);
  return YAML::Dump(node) + "\n";
}

std::string ToText(const google::protobuf::Message& message, OutputFormat format) {
  return format == OutputFormat::kYaml ? ToYaml(message) : ToJson(message);
}

std::string ModeText(v1::Mode mode) { return absl::AsciiStrToLower(v1::Mode_Name(mode).substr(sizeof("MODE_") - 1)); }

std::string TimeText(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0) return "";
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixSeconds(time.seconds()), absl::LocalTimeZone());
}

std::string AgeText(absl::Duration age) {
  const int64_t seconds = std::max<int64_t>(0, absl::ToInt64Seconds(age));
  if (seconds < 120) return absl::StrCat(seconds, "s");
  if (seconds < 2 * 3600) return absl::StrCat(seconds / 60, "m");
  if (seconds < 48 * 3600) return absl::StrCat(seconds / 3600, "h");
  return absl::StrCat(seconds / 86400, "d");
}

std::string LossText(const v1::Job& job) {
  const v1::Progress& progress = job.progress();
  const bool measured = progress.step() > 0 && (!job.spec().has_imported() || progress.loss() != 0);
  return measured ? absl::StrFormat("%.4f", progress.loss()) : "-";
}

}  // namespace ddp
