// Bytes as a .pt file: refused, or tensors of as many bytes as they say.
#include <cstdint>

#include "worker/checkpoint/pt_file.h"
#include "worker/formats/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ddp::MemoryFile file(data, size);
  absl::StatusOr<ddp::PtFile> pt = ddp::PtFile::Open(file.path());
  if (!pt.ok()) return 0;
  for (const ddp::StoredTensor& tensor : pt->tensors()) {
    const absl::StatusOr<std::string> values = pt->Read(tensor);
    if (values.ok() && values->size() != tensor.bytes) __builtin_trap();
  }
  return 0;
}
