// absl::Status to grpc::Status. The codes are the same numbers.
#ifndef DDP_SERVER_API_STATUS_H_
#define DDP_SERVER_API_STATUS_H_

#include <grpcpp/support/status.h>

#include <vector>

#include "absl/status/status.h"
#include "ddp/v1/job.pb.h"

namespace ddp {

grpc::Status ToGrpc(const absl::Status& status);
// With an ErrorDetail among the details, as google.rpc.Status has them.
grpc::Status ToGrpc(const absl::Status& status, const std::vector<v1::FieldViolation>& violations);

}  // namespace ddp

#endif  // DDP_SERVER_API_STATUS_H_
