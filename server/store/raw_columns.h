// Reads a serialized MetricBatch where it lies: a query looks at every batch of a job, mostly for one series of many.
#ifndef DDP_SERVER_STORE_RAW_COLUMNS_H_
#define DDP_SERVER_STORE_RAW_COLUMNS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "ddp/v1/metric.pb.h"
#include "ddp/v1/worker.pb.h"

namespace ddp {

struct Point {
  int64_t step = 0;
  double time = 0;
  double value = 0;
};

// The fields of one MetricColumn, as bytes of the batch.
struct RawColumn {
  std::string_view series;
  std::string_view steps;   // packed varints
  std::string_view times;   // packed doubles
  std::string_view values;  // packed doubles
};

// Calls `take` for each column. False: the bytes are no batch, or `take` has said false.
bool ReadColumns(std::string_view batch, absl::FunctionRef<bool(const RawColumn&)> take);
// Appends the column's points, as many as its shortest part has. False: they are unreadable.
bool AppendPoints(const RawColumn& column, std::vector<Point>& points);
// The times alone.
double EarliestTime(const RawColumn& column, double earliest);

}  // namespace ddp

#endif  // DDP_SERVER_STORE_RAW_COLUMNS_H_
