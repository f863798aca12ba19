#include "client/exit_codes.h"

#include "absl/strings/str_cat.h"
#include "client/spec_builder.h"
#include "ddp/v1/rpc_status.pb.h"

namespace ddp {

namespace {

ExitCode CodeOf(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return kNoDaemon;
    case grpc::StatusCode::NOT_FOUND:
      return kNotFound;
    default:
      return kRefused;
  }
}

}  // namespace

ExitError ErrorOf(const grpc::Status& status) {
  v1::RpcStatus rich;
  std::string text;
  (void)rich.ParseFromString(status.error_details());  // of some other server: no details
  for (const google::protobuf::Any& any : rich.details()) {
    v1::ErrorDetail detail;
    if (!any.UnpackTo(&detail)) continue;
    for (const v1::FieldViolation& violation : detail.violations()) {
      const std::string flag = FlagOf(violation.field());
      absl::StrAppend(&text, text.empty() ? "" : "\n", flag, flag.empty() ? "" : " (", violation.field(),
                      flag.empty() ? "" : ")", ": ", violation.description());
    }
  }
  if (text.empty()) text = status.error_message();
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) text = absl::StrCat("the daemon does not answer: ", text);
  return {CodeOf(status.error_code()), text};
}

ExitCode CodeOf(v1::JobState end_state) { return end_state == v1::JOB_STATE_SUCCEEDED ? kOk : kJobFailed; }

}  // namespace ddp
