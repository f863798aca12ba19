// Arrays of numbers as samples: a row each, along the first dimension.
#ifndef DDP_WORKER_DATA_ARRAY_SAMPLES_H_
#define DDP_WORKER_DATA_ARRAY_SAMPLES_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "worker/data/numeric_array.h"
#include "worker/data/raw_samples.h"
#include "worker/data/spec.h"

namespace ddp {

// Shapes only, for a look before all is read: size, feature_dim and image are set. Errors are FieldErrors of `field`,
// and of training.data.image_shape.
absl::StatusOr<RawSamples> ArrayShape(const NumericArray& array, const DataSpec& spec, std::string_view field);

// The samples: uint8 as pixels, everything else as features, which must be finite. Errors as ArrayShape.
absl::StatusOr<RawSamples> ArraySamples(const NumericArray& array, const DataSpec& spec, std::string_view field);

// One label for each sample, or a FieldError of `field`.
absl::Status CheckLabelShape(const NumericArray& labels, int64_t samples, std::string_view field);

// Labels, as the spec wants them: whole numbers name classes, in the order of their values; any finite ones are numbers
// to learn.
absl::Status AddLabels(const NumericArray& labels, LabelKind kind, std::string_view field, RawSamples* samples);

// Sets `image` from training.data.image_shape, if that is given: it must have as many values as a sample.
absl::Status ApplyImageShape(const DataSpec& spec, const std::string& source, RawSamples* samples);

}  // namespace ddp

#endif  // DDP_WORKER_DATA_ARRAY_SAMPLES_H_
