// `ddp-worker --list, --verify, --export, --import`: what ddpd asks about checkpoints and weights, which it never reads
// itself.
#ifndef DDP_WORKER_TRAIN_CHECKPOINT_TOOL_H_
#define DDP_WORKER_TRAIN_CHECKPOINT_TOOL_H_

#include <optional>
#include <string>
#include <vector>

namespace ddp {

// Writes the answer (a serialized message) to standard output, and weights to a descriptor. Returns the process's exit
// code: 0, or 64 + the absl::StatusCode of the error, whose message goes to standard error. Unset: the arguments are no
// such command.
std::optional<int> RunCheckpointTool(const std::vector<std::string>& arguments);

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_CHECKPOINT_TOOL_H_
