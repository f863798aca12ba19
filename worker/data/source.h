// From a spec's source names to raw samples.
#ifndef DDP_WORKER_DATA_SOURCE_H_
#define DDP_WORKER_DATA_SOURCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "worker/data/raw_samples.h"
#include "worker/data/spec.h"

namespace ddp {

// "" for "wordnet", "noun" for "wordnet:noun"; unset: not WordNet. InvalidArgument for an unknown part.
absl::StatusOr<std::optional<std::string>> WordnetPart(const std::string& source);

// Built-in sets label with classes only.
absl::Status CheckBuiltinSpec(const DataSpec& spec);

// Reads source and, if it is a file, valid. Errors are FieldErrors.
absl::StatusOr<RawData> ReadSource(const DataSpec& spec, const StopCheck& should_stop);

// Whether a sample with this hash of its content is held out.
bool HeldOut(uint64_t hash, double fraction);
// XXH3-64 of a sample's content: text, or the bytes of its features or pixels.
uint64_t ContentHash(const RawSamples& samples, int64_t index);

}  // namespace ddp

#endif  // DDP_WORKER_DATA_SOURCE_H_
