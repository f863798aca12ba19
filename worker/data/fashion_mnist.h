// Fashion-MNIST, from Debian's package dataset-fashion-mnist: gzip files in the IDX format.
#ifndef DDP_WORKER_DATA_FASHION_MNIST_H_
#define DDP_WORKER_DATA_FASHION_MNIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/data/raw_samples.h"

namespace ddp {

inline constexpr char kFashionMnistFolder[] = "/usr/share/datasets/fashion-mnist";

// The 60,000 training and 10,000 test images of 1x28x28 pixels, 10 fixed classes.
absl::StatusOr<RawData> ReadFashionMnist(const std::string& folder);
// Only looks at the headers: shapes as they should be?
absl::Status ProbeFashionMnist(const std::string& folder);

const std::vector<std::string>& FashionMnistClasses();

}  // namespace ddp

#endif  // DDP_WORKER_DATA_FASHION_MNIST_H_
