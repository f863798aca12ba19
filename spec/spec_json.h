// A JobSpec in protobuf's JSON form: what `ddpctl get JOB -o json` shows under "spec".
#ifndef DDP_SPEC_SPEC_JSON_H_
#define DDP_SPEC_SPEC_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "ddp/v1/spec.pb.h"

namespace ddp {

// InvalidArgument names the line and column, or the field's path, and what would be right there.
absl::StatusOr<v1::JobSpec> SpecFromJson(const std::string& text);

}  // namespace ddp

#endif  // DDP_SPEC_SPEC_JSON_H_
