#include "worker/checkpoint/torch_types.h"

namespace ddp {

const TorchType* TypeOfDtype(const std::string& dtype) {
  for (const TorchType& type : kTorchTypes) {
    if (dtype == type.dtype) return &type;
  }
  return nullptr;
}

const TorchType* TypeOfStorage(const std::string& storage) {
  for (const TorchType& type : kTorchTypes) {
    if (type.storage != nullptr && storage == type.storage) return &type;
  }
  return nullptr;
}

const TorchType* TypeOfName(const std::string& name) {
  for (const TorchType& type : kTorchTypes) {
    if (name == type.name) return &type;
  }
  return nullptr;
}

}  // namespace ddp
