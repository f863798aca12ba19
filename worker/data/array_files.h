// Files of arrays: IDX, npy, npz and safetensors.
#ifndef DDP_WORKER_DATA_ARRAY_FILES_H_
#define DDP_WORKER_DATA_ARRAY_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "worker/data/format.h"
#include "worker/data/raw_samples.h"
#include "worker/data/spec.h"

namespace ddp {

// One of the spec's two files, and where its labels are.
struct ArraySource {
  std::string path;
  std::string labels;  // of IDX and npy: another file
  std::string_view path_field;
  std::string_view labels_field;
};
ArraySource TrainArrays(const DataSpec& spec, Format format);
ArraySource ValidArrays(const DataSpec& spec, Format format);

// Samples with the labels that the spec wants; or, by their headers, only how many they are and of what shape. Errors
// are FieldErrors.
absl::StatusOr<RawSamples> ReadArrays(const ArraySource& source, const DataSpec& spec, Format format);
absl::StatusOr<RawSamples> ProbeArrays(const ArraySource& source, const DataSpec& spec, Format format);

}  // namespace ddp

#endif  // DDP_WORKER_DATA_ARRAY_FILES_H_
