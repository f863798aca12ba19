// `ddp-worker --standalone`: one rank without a daemon, in one process, for debugging.
#ifndef DDP_WORKER_TRAIN_STANDALONE_H_
#define DDP_WORKER_TRAIN_STANDALONE_H_

#include <optional>
#include <string>
#include <vector>

namespace ddp {

// `arguments`: SPEC.json [--out FOLDER]. The process's exit code; unset: they are others.
std::optional<int> RunStandalone(const std::vector<std::string>& arguments);

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_STANDALONE_H_
