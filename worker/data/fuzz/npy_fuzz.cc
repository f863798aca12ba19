// .npy files.
#include "worker/data/npy.h"

#include <cstdint>
#include <string>

#include "worker/data/array_samples.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string content(reinterpret_cast<const char*>(data), size);
  const auto head = ddp::ParseNpy(content, "f.npy", /*header_only=*/true);
  const auto array = ddp::ParseNpy(content, "f.npy", /*header_only=*/false);
  if (array.ok() && !head.ok()) __builtin_trap();
  if (head.ok()) ddp::ArrayShape(*head, ddp::DataSpec(), ddp::kSourceField).IgnoreError();
  if (!array.ok()) return 0;
  ddp::ArraySamples(*array, ddp::DataSpec(), ddp::kSourceField).IgnoreError();
  ddp::RawSamples samples;
  samples.size = array->shape.empty() ? 0 : array->shape[0];
  ddp::AddLabels(*array, ddp::LabelKind::kClass, ddp::kLabelsField, &samples).IgnoreError();
  return 0;
}
