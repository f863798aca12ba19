// What can be said of a spec without looking at any data.
#ifndef DDP_SPEC_SPEC_VALIDATION_H_
#define DDP_SPEC_SPEC_VALIDATION_H_

#include <vector>

#include "ddp/v1/job.pb.h"
#include "spec/spec_defaults.h"

namespace ddp {

// Every violation of the ranges in spec.proto, with the field's path, the value and what to do. `spec` has its
// defaults. Data, model options and parents are the worker's to check (SpecChecker).
std::vector<v1::FieldViolation> Validate(const v1::JobSpec& spec, const MachineFacts& machine);

// Only the name and the tags.
std::vector<v1::FieldViolation> ValidateLabels(const v1::JobSpec& spec);

}  // namespace ddp

#endif  // DDP_SPEC_SPEC_VALIDATION_H_
