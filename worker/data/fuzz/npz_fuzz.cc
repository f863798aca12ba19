// .npz files: every member of the archive as samples and as labels.
#include <cstdint>

#include "worker/data/array_files.h"
#include "worker/data/fuzz/memory_file.h"
#include "worker/formats/zip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ddp::MemoryFile file(data, size);
  const auto zip = ddp::ZipFile::Open(file.path());
  if (!zip.ok()) return 0;
  for (const ddp::ZipMember& member : zip->members()) {
    const auto content = zip->Read(member);
    const auto head = zip->Read(member, 100);
    if (content.ok() && (content->size() != member.size || !head.ok() || *head != content->substr(0, 100)))
      __builtin_trap();
    if (!member.name.ends_with(".npy")) continue;
    ddp::DataSpec spec;
    spec.feature_columns = {member.name.substr(0, member.name.size() - 4)};
    spec.label_column = spec.feature_columns[0];
    spec.label_kind = ddp::LabelKind::kClass;
    const ddp::ArraySource source{file.path(), "", ddp::kSourceField, ddp::kLabelField};
    ddp::ProbeArrays(source, spec, ddp::Format::kNpz).IgnoreError();
    ddp::ReadArrays(source, spec, ddp::Format::kNpz).IgnoreError();
  }
  return 0;
}
