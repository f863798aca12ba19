// Bytes as a safetensors file: refused, or tensors that cover the file exactly.
#include <vector>

#include "worker/formats/fuzz/memory_file.h"
#include "worker/formats/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ddp::MemoryFile file(data, size);
  const absl::StatusOr<ddp::SafetensorsFile> opened = ddp::SafetensorsFile::Open(file.path());
  if (!opened.ok()) return 0;
  for (const ddp::TensorInfo& tensor : opened->tensors()) {
    std::vector<char> values(tensor.bytes);
    if (!opened->Read(tensor, values.data()).ok()) __builtin_trap();
  }
  return 0;
}
