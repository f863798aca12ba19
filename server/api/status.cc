#include "server/api/status.h"

namespace ddp {

grpc::Status ToGrpc(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

grpc::Status ToGrpc(const absl::Status& status, const std::vector<v1::FieldViolation>& violations) {
  v1::ErrorDetail detail;
  *detail.mutable_violations() = {violations.begin(), violations.end()};
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message()), detail.SerializeAsString()};
}

}  // namespace ddp
