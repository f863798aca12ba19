// Everything that ddpd wants to know about checkpoints and weights, from ddp-worker: the daemon itself never reads what
// stands in them.
#ifndef DDP_SERVER_API_CHECKPOINT_TOOL_H_
#define DDP_SERVER_API_CHECKPOINT_TOOL_H_

#include <atomic>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/process.h"
#include "ddp/v1/checkpoint.pb.h"

namespace ddp {

// Thread-safe. Calls block. ResourceExhausted when kMostAtOnce of them are at work.
class CheckpointTool {
 public:
  static constexpr int kMostAtOnce = 4;

  explicit CheckpointTool(std::string worker_binary) : worker_binary_(std::move(worker_binary)) {}

  absl::StatusOr<v1::ListCheckpointsResponse> List(const std::string& checkpoints_dir);
  absl::StatusOr<v1::VerifyCheckpointsResponse> Verify(const std::vector<std::string>& folders);
  // Writes the folder's model to `out`. The header has no name and no step.
  absl::StatusOr<v1::WeightsHeader> Export(const std::string& folder, v1::WeightsFormat format, int out);
  // Writes `file` as safetensors to `out`.
  absl::StatusOr<v1::WeightsHeader> Import(const std::string& file, int out);

 private:
  // The worker's standard output. `out`, unless it is negative, is its descriptor kOut.
  absl::StatusOr<std::string> Ask(const std::vector<std::string>& arguments, int out, absl::Duration timeout);
  template <typename Answer>
  absl::StatusOr<Answer> AskFor(const std::vector<std::string>& arguments, int out, absl::Duration timeout);

  const std::string worker_binary_;
  std::atomic<int> at_work_{0};
};

}  // namespace ddp

#endif  // DDP_SERVER_API_CHECKPOINT_TOOL_H_
