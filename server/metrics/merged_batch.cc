#include "server/metrics/merged_batch.h"

#include <map>
#include <string>

namespace ddp {

bool CanFollow(const v1::StreamMetricsResponse& batch, const v1::StreamMetricsResponse& next) {
  return batch.attempt() == next.attempt() && batch.attempt_start_step() == next.attempt_start_step();
}

v1::StreamMetricsResponse MergeBatches(const std::vector<std::shared_ptr<const v1::StreamMetricsResponse>>& batches) {
  v1::StreamMetricsResponse merged;
  merged.set_seq(batches.back()->seq());
  merged.set_attempt(batches.front()->attempt());
  merged.set_attempt_start_step(batches.front()->attempt_start_step());
  std::map<std::string, v1::MetricColumn*> columns;
  for (const auto& batch : batches) {
    for (const v1::MetricColumn& part : batch->columns()) {
      v1::MetricColumn*& column = columns[part.series()];
      if (column == nullptr) {
        column = merged.add_columns();
        column->set_series(part.series());
      }
      column->mutable_step()->MergeFrom(part.step());
      column->mutable_time()->MergeFrom(part.time());
      column->mutable_value()->MergeFrom(part.value());
    }
  }
  return merged;
}

}  // namespace ddp
