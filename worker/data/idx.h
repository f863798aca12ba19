// The IDX format: two zero bytes, the type, the number of dimensions, their sizes, then the numbers, all big-endian;
// plain or packed by gzip, whatever the name says.
#ifndef DDP_WORKER_DATA_IDX_H_
#define DDP_WORKER_DATA_IDX_H_

#include <string>

#include "absl/status/statusor.h"
#include "worker/data/numeric_array.h"

namespace ddp {

// InvalidArgument "FILE: byte N: what is wrong"; N counts unpacked bytes. Memory grows with what the file really holds,
// not with what its header says.
absl::StatusOr<NumericArray> ReadIdx(const std::string& path, bool header_only);

}  // namespace ddp

#endif  // DDP_WORKER_DATA_IDX_H_
