// Several batches as one message.
#ifndef DDP_SERVER_METRICS_MERGED_BATCH_H_
#define DDP_SERVER_METRICS_MERGED_BATCH_H_

#include <memory>
#include <vector>

#include "ddp/v1/metric.pb.h"

namespace ddp {

// Whether `next` can be in one message with the batch before it: of the same attempt from the same step.
bool CanFollow(const v1::StreamMetricsResponse& batch, const v1::StreamMetricsResponse& next);

// All points of batches that follow each other, by series in the order of their first appearance; the seq is that of
// the last batch. There is at least one.
v1::StreamMetricsResponse MergeBatches(const std::vector<std::shared_ptr<const v1::StreamMetricsResponse>>& batches);

}  // namespace ddp

#endif  // DDP_SERVER_METRICS_MERGED_BATCH_H_
