// The pickle inside of PyTorch's .pt files: names, shapes, and where each tensor's values stand. Nothing is executed: a
// small interpreter knows the opcodes and names of which tensors are made, and refuses everything else by its name.
#ifndef DDP_WORKER_CHECKPOINT_STATE_DICT_H_
#define DDP_WORKER_CHECKPOINT_STATE_DICT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/formats/safetensors.h"

namespace ddp {

// A view into a storage: element [i, j] stands strides[0] * i + strides[1] * j elements behind `offset`. Checked: every
// element lies inside of the storage, and no number overflows.
struct StoredTensor {
  std::string name;
  std::string dtype;  // as safetensors spells it
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  std::string storage;  // the entry data/STORAGE of the archive
  uint64_t storage_bytes = 0;
  uint64_t offset = 0;  // in elements
  uint64_t bytes = 0;   // of the tensor itself
};

// The tensors of a pickled state_dict, in its order: a dict of tensors, or a dict with exactly one such dict under
// "state_dict", "model_state_dict", "model", "module" or "weights". InvalidArgument says what is wrong and at which
// byte, without the file's name.
absl::StatusOr<std::vector<StoredTensor>> ReadStateDict(std::string_view pickle);

// The pickle (protocol 2) of an OrderedDict of these tensors, the n-th of them in the storage n.
std::string WriteStateDict(const std::vector<TensorInfo>& tensors);

}  // namespace ddp

#endif  // DDP_WORKER_CHECKPOINT_STATE_DICT_H_
