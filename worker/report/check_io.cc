#include "worker/report/check_io.h"

#include "common/status_macros.h"
#include "ddp/v1/worker.pb.h"
#include "worker/report/config_io.h"

namespace ddp {

absl::StatusOr<CheckInput> ParseCheckRequest(const std::string& serialized) {
  v1::CheckRequest request;
  if (!request.ParseFromString(serialized)) return absl::InvalidArgumentError("standard input holds no CheckRequest");
  CheckInput input;
  DDP_ASSIGN_OR_RETURN(input.training, TrainingFromProto(request.spec()));
  input.world_size = request.spec().resources().nproc();
  input.init_path = request.init_path();
  return input;
}

std::string SerializeCheckResult(const CheckOutput& output) {
  v1::CheckResult result;
  for (const auto& [field, text] : output.violations) {
    v1::FieldViolation* violation = result.add_violations();
    violation->set_field(field);
    violation->set_description(text);
  }
  for (const std::string& notice : output.notices) result.add_notices(notice);
  return result.SerializeAsString();
}

}  // namespace ddp
