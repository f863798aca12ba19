// One export of weights: a header, then the file in pieces.
#ifndef DDP_SERVER_API_WEIGHTS_EXPORT_H_
#define DDP_SERVER_API_WEIGHTS_EXPORT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/files.h"
#include "ddp/v1/checkpoint.pb.h"
#include "server/api/checkpoint_tool.h"
#include "server/manager/job_manager.h"
#include "server/stream_step.h"

namespace ddp {

// The step of the checkpoint that `which` means: "last" or "", "best", a step. NotFound, InvalidArgument.
absl::StatusOr<int64_t> ResolveCheckpoint(const std::string& checkpoints_dir, const std::string& which);

// A source for StreamReactor. The file that it sends has no name, so nothing is left of it whatever happens.
class WeightsExport {
 public:
  // Blocks until the file is complete.
  static absl::StatusOr<std::unique_ptr<WeightsExport>> Make(JobManager& manager, CheckpointTool& tool,
                                                             const std::string& home,
                                                             const v1::ExportCheckpointRequest& request);
  absl::StatusOr<StreamStep> Next(v1::ExportCheckpointResponse& message);

 private:
  WeightsExport(v1::WeightsHeader header, UniqueFd file) : header_(std::move(header)), file_(std::move(file)) {}

  const v1::WeightsHeader header_;
  const UniqueFd file_;
  bool begun_ = false;
  int64_t sent_ = 0;
};

}  // namespace ddp

#endif  // DDP_SERVER_API_WEIGHTS_EXPORT_H_
