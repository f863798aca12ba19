// Setting fields of a JobSpec by path, by reflection: whatever spec.proto gains is there without a line here.
#ifndef DDP_CLIENT_SPEC_FIELDS_H_
#define DDP_CLIENT_SPEC_FIELDS_H_

#include <string>

#include "absl/status/status.h"
#include "ddp/v1/spec.pb.h"

namespace google::protobuf {
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

namespace ddp {

// "training.lr", "training.model.options.dim", "tags". Replaces a single value; adds to a repeated one.
// InvalidArgument, without the path, for an unknown name (with the nearest one) and for text that is no value of the
// field's type.
absl::Status SetField(v1::JobSpec& spec, const std::string& path, const std::string& text);

// The values of the field separated by "|", when it has few: of an enum or a bool. "" for any other field.
std::string FieldWords(const std::string& path);

// One value into one field of one message (add: repeated fields).
absl::Status SetValue(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
                      const std::string& text);

}  // namespace ddp

#endif  // DDP_CLIENT_SPEC_FIELDS_H_
