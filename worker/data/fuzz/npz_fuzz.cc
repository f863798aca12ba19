// .npz files: every member of the archive as samples and as labels.
#include <cstdint>

#include "worker/data/array_files.h"
#include "worker/formats/fuzz/memory_file.h"
#include "worker/formats/zip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ddp::MemoryFile file(data, size);
  const auto zip = ddp::ZipReader::Open(file.path());
  if (!zip.ok()) return 0;
  for (const auto& [name, entry] : zip->entries()) {
    const auto content = zip->Read(entry, entry.bytes);
    const auto head = zip->ReadHead(entry, 100);
    if (content.ok() && (content->size() != entry.bytes || !head.ok() || *head != content->substr(0, 100)))
      __builtin_trap();
    if (!name.ends_with(".npy")) continue;
    ddp::DataSpec spec;
    spec.feature_columns = {name.substr(0, name.size() - 4)};
    spec.label_column = spec.feature_columns[0];
    spec.label_kind = ddp::LabelKind::kClass;
    const ddp::ArraySource source{file.path(), "", ddp::kSourceField, ddp::kLabelField};
    ddp::ProbeArrays(source, spec, ddp::Format::kNpz).IgnoreError();
    ddp::ReadArrays(source, spec, ddp::Format::kNpz).IgnoreError();
  }
  return 0;
}
