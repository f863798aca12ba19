// Bytes as the pickle inside of a .pt file: refused, or tensors that lie inside of their storages.
#include <cstdint>
#include <string_view>

#include "worker/checkpoint/state_dict.h"
#include "worker/formats/safetensors.h"

namespace {

// The last element that the tensor reaches, in the storage; false: outside of it.
bool LiesInside(const ddp::StoredTensor& tensor) {
  if (tensor.bytes == 0) return true;
  unsigned __int128 last = tensor.offset;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.strides[d] < 0) return false;
    last += static_cast<unsigned __int128>(tensor.shape[d] - 1) * static_cast<uint64_t>(tensor.strides[d]);
  }
  return (last + 1) * ddp::DtypeBytes(tensor.dtype) <= tensor.storage_bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto tensors = ddp::ReadStateDict({reinterpret_cast<const char*>(data), size});
  if (!tensors.ok()) return 0;
  for (const ddp::StoredTensor& tensor : *tensors) {
    if (tensor.shape.size() != tensor.strides.size() || !LiesInside(tensor)) __builtin_trap();
  }
  return 0;
}
