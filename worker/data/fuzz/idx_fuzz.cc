// IDX files, plain or packed.
#include "worker/data/idx.h"

#include <cstdint>

#include "worker/data/array_samples.h"
#include "worker/formats/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ddp::MemoryFile file(data, size);
  const auto array = ddp::ReadIdx(file.path(), /*header_only=*/false);
  if (!array.ok()) return 0;
  ddp::ArraySamples(*array, ddp::DataSpec(), ddp::kSourceField).IgnoreError();
  ddp::RawSamples samples;
  samples.size = array->shape[0];
  ddp::AddLabels(*array, ddp::LabelKind::kClass, ddp::kLabelsField, &samples).IgnoreError();
  return 0;
}
