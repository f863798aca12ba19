// Bytes as a .pt file, and as the pickle inside of one: refused, or tensors that lie inside of their storages.
#include <string_view>

#include "worker/checkpoint/fuzz/fuzz_file.h"
#include "worker/checkpoint/pt_file.h"
#include "worker/checkpoint/state_dict.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ddp::FuzzFile file(data, size);
  absl::StatusOr<ddp::PtFile> pt = ddp::PtFile::Open(file.path());
  if (pt.ok()) {
    for (const ddp::StoredTensor& tensor : pt->tensors()) {
      const absl::StatusOr<std::string> values = pt->Read(tensor);
      if (values.ok() && values->size() != tensor.bytes) __builtin_trap();
    }
  }
  ddp::ReadStateDict({reinterpret_cast<const char*>(data), size}).IgnoreError();
  return 0;
}
