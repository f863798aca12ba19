// A model's weights into and out of other people's formats.
#ifndef DDP_WORKER_CHECKPOINT_CONVERT_H_
#define DDP_WORKER_CHECKPOINT_CONVERT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace ddp {

struct Converted {
  uint64_t bytes = 0;
  std::string xxh3_128;
  int64_t tensors = 0;
};

enum class WeightsFormat { kSafetensors, kPt };

// Writes the model of a checkpoint folder to the descriptor. DataLoss unless the folder's files are those that were
// saved; a folder that vanishes meanwhile (retention) does no harm once its model is open.
absl::StatusOr<Converted> ExportModel(const std::string& folder, WeightsFormat format, int out);

// Writes a .pt or a .safetensors file, told apart by its first bytes, to the descriptor as safetensors. InvalidArgument
// "FILE: what is wrong".
absl::StatusOr<Converted> ImportModel(const std::string& file, int out);

}  // namespace ddp

#endif  // DDP_WORKER_CHECKPOINT_CONVERT_H_
