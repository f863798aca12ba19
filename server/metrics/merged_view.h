// The points of a job as one curve per series, although attempts may have trained some steps twice.
#ifndef DDP_SERVER_METRICS_MERGED_VIEW_H_
#define DDP_SERVER_METRICS_MERGED_VIEW_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddp/v1/metric.pb.h"
#include "ddp/v1/worker.pb.h"
#include "server/store/raw_columns.h"

namespace ddp {

// Fed with batches in the order in which they were stored. With the first batch of a later attempt, every point of
// earlier attempts with a step above that attempt's start step is superseded, in all series. Not thread-safe.
class MergedView {
 public:
  using Series = std::map<std::string, std::vector<Point>, std::less<>>;

  // wanted: series to take; empty: all.
  explicit MergedView(std::set<std::string, std::less<>> wanted = {}) : wanted_(std::move(wanted)) {}
  // batch: a serialized MetricBatch. False: it is unreadable.
  bool Add(int32_t attempt, int64_t start_step, std::string_view batch);
  // By series; each sorted by step, equal steps in the order of arrival. Ends the life of the view.
  Series Take() &&;

 private:
  const std::set<std::string, std::less<>> wanted_;
  int32_t attempt_ = 0;
  Series series_;
};

}  // namespace ddp

#endif  // DDP_SERVER_METRICS_MERGED_VIEW_H_
