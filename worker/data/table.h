// CSV and TSV files with named columns.
#ifndef DDP_WORKER_DATA_TABLE_H_
#define DDP_WORKER_DATA_TABLE_H_

#include <string>

#include "absl/status/statusor.h"
#include "worker/data/raw_samples.h"
#include "worker/data/spec.h"
#include "worker/formats/input_file.h"

namespace ddp {

// One sample for each record below the header, at most max_rows. Errors are FieldErrors: of `path_field` when the file
// cannot be read or is no table, of the column's field when a column is missing or a value is wrong ("FILE:LINE: column
// ...").
absl::StatusOr<RawSamples> ReadTable(const std::string& path, const InputFile& file, const DataSpec& spec,
                                     std::string_view path_field, int64_t max_rows, const StopCheck& should_stop);

}  // namespace ddp

#endif  // DDP_WORKER_DATA_TABLE_H_
