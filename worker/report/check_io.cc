#include "worker/report/check_io.h"

#include "common/status_macros.h"
#include "ddp/v1/worker.pb.h"
#include "worker/report/config_io.h"

namespace ddp {

absl::StatusOr<CheckInput> ParseCheckRequest(const std::string& serialized) {
  v1::CheckRequest request;
  if (!request.ParseFromString(serialized)) return absl::InvalidArgumentError("standard input holds no CheckRequest");
  CheckInput input;
  input.init_path = request.init_path();
  input.parent_only = request.parent_only();
  if (input.parent_only) return input;
  DDP_ASSIGN_OR_RETURN(input.training, TrainingFromProto(request.spec()));
  input.world_size = request.spec().resources().nproc();
  input.cuda = request.spec().resources().device() == v1::DEVICE_CUDA;
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
  if (output.parent) {
    v1::Training& parent = *result.mutable_parent();
    parent.mutable_model()->set_name(output.parent->model_name);
    parent.mutable_model()->mutable_options()->insert(output.parent->model_options.begin(),
                                                      output.parent->model_options.end());
    parent.mutable_data()->set_max_tokens(static_cast<int32_t>(output.parent->max_tokens));
  }
  return result.SerializeAsString();
}

}  // namespace ddp
