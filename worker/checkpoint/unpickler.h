// Pickled bytes to a graph of plain values.
#ifndef DDP_WORKER_CHECKPOINT_UNPICKLER_H_
#define DDP_WORKER_CHECKPOINT_UNPICKLER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/checkpoint/state_dict.h"

namespace ddp {

struct PickledValue {
  enum class Kind { kNone, kBool, kInt, kBigInt, kFloat, kText, kTuple, kList, kDict, kGlobal, kStorage, kTensor };
  Kind kind = Kind::kNone;
  int64_t number = 0;           // kBool, kInt; kTensor, kStorage: index into Pickled::tensors
  std::string text;             // kText; kGlobal: "module.name"
  std::vector<uint32_t> items;  // indices into Pickled::values; kDict: key, value, key, value
};

struct Pickled {
  std::vector<PickledValue> values;
  std::vector<StoredTensor> tensors;  // without names
  uint32_t root = 0;
};

// "dict", "int", ... as Python says it.
std::string KindName(const PickledValue& value);

// Opcodes of protocol 2 and the names of collections.OrderedDict and tensors only. Takes memory in proportion to the
// pickle, at most some 300 MB, and no recursion.
absl::StatusOr<Pickled> Unpickle(std::string_view bytes);

}  // namespace ddp

#endif  // DDP_WORKER_CHECKPOINT_UNPICKLER_H_
