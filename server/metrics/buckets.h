// Summaries of points. Pure functions.
#ifndef DDP_SERVER_METRICS_BUCKETS_H_
#define DDP_SERVER_METRICS_BUCKETS_H_

#include <vector>

#include "absl/types/span.h"
#include "ddp/v1/metric.pb.h"
#include "server/metrics/merged_view.h"
#include "server/metrics/x_axis.h"

namespace ddp {

// Cuts the points, in order, into at most max_buckets buckets of equal counts (they differ by at most one), so that
// dense and sparse stretches keep their detail alike. Every point is in exactly one bucket: no spike disappears. Min,
// max and mean are over finite values, NaN when a bucket has none. max_buckets > 0. The points rise along the axis.
std::vector<v1::Bucket> Bucketize(absl::Span<const Point> points, int max_buckets, const XAxis& axis);

}  // namespace ddp

#endif  // DDP_SERVER_METRICS_BUCKETS_H_
