// Batches for the tests in this room and in metrics.
#ifndef DDP_SERVER_STORE_TESTING_H_
#define DDP_SERVER_STORE_TESTING_H_

#include <string>
#include <utility>
#include <vector>

#include "ddp/v1/worker.pb.h"

namespace ddp {

// A batch of one series; the time of a point is 1000 + its step.
inline v1::MetricBatch OneSeries(const std::string& series, const std::vector<std::pair<int64_t, double>>& points) {
  v1::MetricBatch batch;
  v1::MetricColumn& column = *batch.add_columns();
  column.set_series(series);
  for (const auto& [step, value] : points) {
    column.add_step(step);
    column.add_time(1000.0 + static_cast<double>(step));
    column.add_value(value);
  }
  return batch;
}

}  // namespace ddp

#endif  // DDP_SERVER_STORE_TESTING_H_
