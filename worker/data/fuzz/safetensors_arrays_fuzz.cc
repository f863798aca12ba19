// safetensors files: every tensor as samples and as labels.
#include "worker/formats/safetensors.h"

#include <cstdint>

#include "worker/data/array_files.h"
#include "worker/formats/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ddp::MemoryFile file(data, size);
  const auto tensors = ddp::SafetensorsFile::Open(file.path());
  if (!tensors.ok()) return 0;
  for (const ddp::TensorInfo& tensor : tensors->tensors()) {
    ddp::DataSpec spec;
    spec.feature_columns = {tensor.name};
    spec.label_column = tensor.name;
    spec.label_kind = ddp::LabelKind::kClass;
    const ddp::ArraySource source{file.path(), "", ddp::kSourceField, ddp::kLabelField};
    ddp::ProbeArrays(source, spec, ddp::Format::kSafetensors).IgnoreError();
    ddp::ReadArrays(source, spec, ddp::Format::kSafetensors).IgnoreError();
  }
  return 0;
}
