// From a spec's source names to raw samples.
#ifndef DDP_WORKER_DATA_SOURCE_H_
#define DDP_WORKER_DATA_SOURCE_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "worker/data/format.h"
#include "worker/data/raw_samples.h"
#include "worker/data/spec.h"

namespace ddp {

// "" for "wordnet", "noun" for "wordnet:noun"; unset: not WordNet. InvalidArgument for an unknown part.
absl::StatusOr<std::optional<std::string>> WordnetPart(const std::string& source);

// Built-in sets label with classes only.
absl::Status CheckBuiltinSpec(const DataSpec& spec);

// Tables, JSON lines and text lines: at most max_rows samples out of the first max_bytes of a file. Errors are
// FieldErrors, of `field` when it is the file that is wrong.
absl::StatusOr<RawSamples> ReadRows(const std::string& path, Format format, const DataSpec& spec,
                                    std::string_view field, size_t max_bytes, int64_t max_rows,
                                    const StopCheck& should_stop);

// Have the samples of both files the same form? FieldError of training.data.valid.
absl::Status CheckPair(const RawSamples& train, const RawSamples& valid, const DataSpec& spec);

// Says what there is to choose from.
absl::Status UnknownSource(const std::string& source);

// Reads source and, if it is a file, valid; not of files of tokens. Errors are FieldErrors.
absl::StatusOr<RawData> ReadSource(const DataSpec& spec, const StopCheck& should_stop);

// Whether a sample with this hash of its content is held out.
bool HeldOut(uint64_t hash, double fraction);
// XXH3-64 of a sample's content: text, or the bytes of its features or pixels.
uint64_t ContentHash(const RawSamples& samples, int64_t index);

}  // namespace ddp

#endif  // DDP_WORKER_DATA_SOURCE_H_
