// numpy's .npy format (numpy.lib.format), versions 1 to 3, from memory.
#ifndef DDP_WORKER_DATA_NPY_H_
#define DDP_WORKER_DATA_NPY_H_

#include <string>

#include "absl/status/statusor.h"
#include "worker/data/numeric_array.h"

namespace ddp {

// How many bytes at the beginning hold the header of any array that is read here.
inline constexpr size_t kNpyHeadBytes = 1 << 16;

// name: for errors, which are InvalidArgument "NAME: byte N: what is wrong". header_only: `content` may be the head of
// the file, and no numbers are taken. Otherwise the content ends with the last number. Big-endian numbers are turned
// around; Fortran order, objects, texts and structures are refused. The numbers stay in the memory of `content`.
absl::StatusOr<NumericArray> ParseNpy(std::string content, const std::string& name, bool header_only);

}  // namespace ddp

#endif  // DDP_WORKER_DATA_NPY_H_
