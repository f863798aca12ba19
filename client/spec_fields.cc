#include "client/spec_fields.h"

#include <charconv>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/text.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "spec/unknown_field.h"

namespace ddp {

namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string Shown(const std::string& text) { return absl::StrCat("\"", EscapeControls(text), "\""); }

// MODE_PRETRAIN is "pretrain".
std::string ShortName(const EnumDescriptor& type, const std::string& full) {
  std::string prefix;
  for (const char c : type.name()) {
    if (absl::ascii_isupper(static_cast<unsigned char>(c)) && !prefix.empty()) prefix += '_';
    prefix += absl::ascii_toupper(static_cast<unsigned char>(c));
  }
  return absl::AsciiStrToLower(full.substr(prefix.size() + 1));
}

absl::Status SetEnum(Message& message, const FieldDescriptor& field, const std::string& text) {
  std::vector<std::string> names;
  const EnumDescriptor& type = *field.enum_type();
  for (int i = 0; i < type.value_count(); ++i) {
    const std::string name = ShortName(type, type.value(i)->name());
    // "auto" is a word for: whatever the daemon chooses.
    const bool unset = type.value(i)->number() == 0;
    if (text == type.value(i)->name() || text == name || (unset && text == "auto")) {
      message.GetReflection()->SetEnumValue(&message, &field, type.value(i)->number());
      return absl::OkStatus();
    }
    if (!unset) names.push_back(name);
  }
  return absl::InvalidArgumentError(absl::StrCat("must be one of ", absl::StrJoin(names, ", "), "; got ", Shown(text)));
}

template <typename Number>
absl::Status ParseNumber(const std::string& text, const char* kind, Number* value) {
  const char* begin = text.data() + (text.size() > 1 && text.front() == '+' ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), *value);
  if (error == std::errc() && end == text.data() + text.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("must be ", kind, error == std::errc::result_out_of_range ? " (this one is out of range)" : "",
                   ", got ", Shown(text)));
}

// Calls Set##Type or Add##Type.
#define DDP_STORE(Type, value)                                                       \
  (field.is_repeated() ? message.GetReflection()->Add##Type(&message, &field, value) \
                       : message.GetReflection()->Set##Type(&message, &field, value))

}  // namespace

absl::Status SetValue(Message& message, const FieldDescriptor& field, const std::string& text) {
  absl::Status status;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      if (!IsValidUtf8(text)) return absl::InvalidArgumentError(absl::StrCat("must be UTF-8, got ", Shown(text)));
      DDP_STORE(String, text);
      return status;
    case FieldDescriptor::CPPTYPE_INT32: {
      int32_t value = 0;
      if (status = ParseNumber(text, "a whole number", &value); status.ok()) DDP_STORE(Int32, value);
      return status;
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      int64_t value = 0;
      if (status = ParseNumber(text, "a whole number", &value); status.ok()) DDP_STORE(Int64, value);
      return status;
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      uint64_t value = 0;
      if (status = ParseNumber(text, "a whole number >= 0", &value); status.ok()) DDP_STORE(UInt64, value);
      return status;
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      double value = 0;
      // The daemon refuses infinities and NaN with the field's range.
      if (status = ParseNumber(text, "a number", &value); status.ok()) DDP_STORE(Double, value);
      return status;
    }
    case FieldDescriptor::CPPTYPE_ENUM:
      return SetEnum(message, field, text);
    case FieldDescriptor::CPPTYPE_BOOL:
      if (text != "true" && text != "false") {
        return absl::InvalidArgumentError(absl::StrCat("must be true or false, got ", Shown(text)));
      }
      DDP_STORE(Bool, text == "true");
      return status;
    default:
      return absl::InvalidArgumentError("is a group of fields, not one value");
  }
}

absl::Status SetField(v1::JobSpec& spec, const std::string& path, const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(path, '.');
  Message* message = &spec;
  for (size_t i = 0; i < parts.size(); ++i) {
    const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(parts[i]);
    if (field == nullptr) return absl::InvalidArgumentError(UnknownField(*message->GetDescriptor(), parts[i]));
    if (field->is_map()) {
      if (i + 1 >= parts.size())
        return absl::InvalidArgumentError("needs a name behind it, as in training.model.options.dim");
      const std::string key = absl::StrJoin(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1, parts.end(), ".");
      if (!IsValidUtf8(key) || !IsValidUtf8(text)) return absl::InvalidArgumentError("must be UTF-8");
      // The only map of a JobSpec is one of strings.
      (*static_cast<v1::Model*>(message)->mutable_options())[key] = text;
      return absl::OkStatus();
    }
    if (i + 1 == parts.size()) return SetValue(*message, *field, text);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
      return absl::InvalidArgumentError("has no fields inside");
    message = message->GetReflection()->MutableMessage(message, field);
  }
  return absl::OkStatus();
}

std::string FieldWords(const std::string& path) {
  const google::protobuf::Descriptor* message = v1::JobSpec::descriptor();
  const FieldDescriptor* field = nullptr;
  for (const std::string& name : std::vector<std::string>(absl::StrSplit(path, '.'))) {
    field = message == nullptr ? nullptr : message->FindFieldByName(name);
    if (field == nullptr) return "";
    message = field->message_type();
  }
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) return "true|false";
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_ENUM) return "";
  const EnumDescriptor& type = *field->enum_type();
  std::vector<std::string> words;
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() != 0) words.push_back(ShortName(type, type.value(i)->name()));
  }
  return absl::StrJoin(words, "|");
}

}  // namespace ddp
