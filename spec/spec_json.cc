#include "spec/spec_json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "spec/excerpt.h"
#include "spec/unknown_field.h"

namespace ddp {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using nlohmann::json;

absl::Status Refuse(const std::string& path, const std::string& text) {
  return absl::InvalidArgumentError(absl::StrCat(path, path.empty() ? "" : ": ", text));
}

// As in protobuf's JSON: the name in the .proto file, or in camel case.
const FieldDescriptor* FindField(const Descriptor& type, const std::string& name) {
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->name() == name || type.field(i)->json_name() == name) return type.field(i);
  }
  return nullptr;
}

absl::Status CheckEnum(const google::protobuf::EnumDescriptor& type, const std::string& path, const std::string& name) {
  if (type.FindValueByName(name) != nullptr) return absl::OkStatus();
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) names.push_back(type.value(i)->name());
  return Refuse(path, absl::StrCat("must be one of ", absl::StrJoin(names, ", "), "; got ", Excerpt(name)));
}

// Protobuf's own parser says nothing of what would be right instead. Everything that is not looked at here, it refuses.
absl::Status CheckNames(const json& object, const Descriptor& type, const std::string& prefix) {
  if (!object.is_object()) return absl::OkStatus();
  std::set<const FieldDescriptor*> seen;
  for (const auto& [name, value] : object.items()) {
    const FieldDescriptor* field = FindField(type, name);
    if (field == nullptr) return Refuse(prefix, UnknownField(type, name));
    const std::string path = absl::StrCat(prefix, prefix.empty() ? "" : ".", field->name());
    if (!seen.insert(field).second) return Refuse(path, "is there twice: leave one out");
    if (field->is_map()) continue;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL && !value.is_boolean() && !value.is_null()) {
      return Refuse(path, absl::StrCat("must be true or false, got ",
                                       Excerpt(value.is_string() ? value.get<std::string>() : value.dump())));
    }
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      DDP_RETURN_IF_ERROR(CheckNames(value, *field->message_type(), path));
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM && value.is_string()) {
      DDP_RETURN_IF_ERROR(CheckEnum(*field->enum_type(), path, value.get<std::string>()));
    }
  }
  return absl::OkStatus();
}

// Of names that are there twice in one object, parsers take the last value and say nothing.
class RepeatedName {
 public:
  bool operator()(int /*depth*/, json::parse_event_t event, const json& value) {
    if (event == json::parse_event_t::object_start) names_.emplace_back();
    if (event == json::parse_event_t::object_end) names_.pop_back();
    if (event == json::parse_event_t::key && !names_.back().insert(value.get<std::string>()).second && found_.empty()) {
      found_ = value.get<std::string>();
    }
    return true;
  }
  const std::string& found() const { return found_; }

 private:
  std::vector<std::set<std::string>> names_;  // of the objects that are open
  std::string found_;
};

absl::StatusOr<json> Parse(const std::string& text) {
  try {
    RepeatedName repeated;
    json root = json::parse(text, std::ref(repeated));
    if (repeated.found().empty()) return root;
    return absl::InvalidArgumentError(
        absl::StrCat("the name ", Excerpt(repeated.found()), " is there twice in one object: leave one out"));
  } catch (const json::parse_error& e) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const std::string what = e.what();
    const size_t at = what.find("] ");
    return absl::InvalidArgumentError(
        absl::StrCat("is no JSON: ", at == std::string::npos ? what : what.substr(at + 2)));
  }
}

// "(training.lr): invalid value ..."
std::string WithoutParentheses(const std::string& message) {
  const size_t end = message.find("): ");
  if (message.empty() || message.front() != '(' || end == std::string::npos) return message;
  return absl::StrCat(message.substr(1, end - 1), message.substr(end + 1));
}

}  // namespace

absl::StatusOr<v1::JobSpec> SpecFromJson(const std::string& text) {
  DDP_ASSIGN_OR_RETURN(const json root, Parse(text));
  if (!root.is_object()) return absl::InvalidArgumentError("must be an object: the fields of a job");
  DDP_RETURN_IF_ERROR(CheckNames(root, *v1::JobSpec::descriptor(), ""));
  v1::JobSpec spec;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &spec);
  if (!status.ok()) return absl::InvalidArgumentError(WithoutParentheses(status.message().ToString()));
  return spec;
}

}  // namespace ddp
