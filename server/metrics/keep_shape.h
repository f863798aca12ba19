// Which points of a long curve tell most of it.
#ifndef DDP_SERVER_METRICS_KEEP_SHAPE_H_
#define DDP_SERVER_METRICS_KEEP_SHAPE_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace ddp {

// The places, rising, of the values that stay: all when there are at most `limit` (at least 5) of them. Otherwise they
// are cut into limit / 5 buckets of equal counts, and each bucket keeps its first and last value, the first of its
// least and the first of its greatest finite values, and the first that is not finite.
std::vector<size_t> KeepShape(absl::Span<const double> values, size_t limit);

}  // namespace ddp

#endif  // DDP_SERVER_METRICS_KEEP_SHAPE_H_
