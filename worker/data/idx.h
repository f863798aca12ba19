// Fashion-MNIST, from Debian's package dataset-fashion-mnist: gzip files in the IDX format.
#ifndef DDP_WORKER_DATA_IDX_H_
#define DDP_WORKER_DATA_IDX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/data/raw_samples.h"

namespace ddp {

inline constexpr char kFashionMnistFolder[] = "/usr/share/datasets/fashion-mnist";

// An IDX file of unsigned bytes (magic 0x0000 08 dims, big-endian sizes, then the bytes).
struct IdxBytes {
  std::vector<int64_t> shape;
  std::vector<uint8_t> values;  // empty when only the header was read
};

// Errors "FILE: byte N: what is wrong" (N counts unpacked bytes).
absl::StatusOr<IdxBytes> ReadIdxGz(const std::string& path, bool header_only);

// The 60,000 training and 10,000 test images of 784 pixels, 10 fixed classes.
absl::StatusOr<RawData> ReadFashionMnist(const std::string& folder);
// Only looks at the headers: shapes as they should be?
absl::Status ProbeFashionMnist(const std::string& folder);

const std::vector<std::string>& FashionMnistClasses();

}  // namespace ddp

#endif  // DDP_WORKER_DATA_IDX_H_
