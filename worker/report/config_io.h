// Protobuf messages to the worker's plain structs. Only report/ includes this.
#ifndef DDP_WORKER_REPORT_CONFIG_IO_H_
#define DDP_WORKER_REPORT_CONFIG_IO_H_

#include "absl/status/statusor.h"
#include "ddp/v1/worker.pb.h"
#include "worker/config.h"

namespace ddp {

// The spec must be complete (the coordinator has filled in defaults); InvalidArgument names a field that is not.
absl::StatusOr<TrainingConfig> TrainingFromProto(const v1::JobSpec& spec);
absl::StatusOr<WorkerConfig> WorkerFromProto(const v1::WorkerStart& start);

}  // namespace ddp

#endif  // DDP_WORKER_REPORT_CONFIG_IO_H_
