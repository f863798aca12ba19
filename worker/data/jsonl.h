// JSON lines: an object on each line.
#ifndef DDP_WORKER_DATA_JSONL_H_
#define DDP_WORKER_DATA_JSONL_H_

#include <string>

#include "absl/status/statusor.h"
#include "worker/data/raw_samples.h"
#include "worker/data/spec.h"
#include "worker/formats/input_file.h"

namespace ddp {

// One sample for each line, at most max_rows; empty lines are passed over. The columns of the spec are keys; other keys
// may hold anything. Errors are FieldErrors: of `path_field` when a line is no JSON object, of the column's field when
// a key is missing, stands twice or has a wrong value ("FILE:LINE: key ...").
absl::StatusOr<RawSamples> ReadJsonLines(const std::string& path, const InputFile& file, const DataSpec& spec,
                                         std::string_view path_field, int64_t max_rows, const StopCheck& should_stop);

}  // namespace ddp

#endif  // DDP_WORKER_DATA_JSONL_H_
