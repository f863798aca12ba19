// -o table|wide|json|yaml.
#ifndef DDP_CLIENT_OUTPUT_H_
#define DDP_CLIENT_OUTPUT_H_

#include <string>

#include "absl/time/time.h"
#include "ddp/v1/job.pb.h"

namespace google::protobuf {
class Message;
class Timestamp;
}  // namespace google::protobuf

namespace ddp {

enum class OutputFormat { kTable, kWide, kJson, kYaml };

// Indented JSON with the field names of the protos; fields with default values are there, too.
std::string ToJson(const google::protobuf::Message& message);
// The same as block YAML, without fields that are not set: what `submit -f` reads.
std::string ToYaml(const google::protobuf::Message& message);
// For kJson and kYaml.
std::string ToText(const google::protobuf::Message& message, OutputFormat format);

// "pretrain"
std::string ModeText(v1::Mode mode);
// "2026-12-01 06:44:00" in local time; "" when unset.
std::string TimeText(const google::protobuf::Timestamp& time);
// "45s", "12m", "3h", "2d"
std::string AgeText(absl::Duration age);
// Of the last step, "0.6931"; "-" when there is none: before the first step, or of an import that has none.
std::string LossText(const v1::Job& job);

}  // namespace ddp

#endif  // DDP_CLIENT_OUTPUT_H_
