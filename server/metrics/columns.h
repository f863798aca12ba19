// Looks at columns of points as they come in.
#ifndef DDP_SERVER_METRICS_COLUMNS_H_
#define DDP_SERVER_METRICS_COLUMNS_H_

#include <google/protobuf/repeated_field.h>

#include <algorithm>
#include <cstdint>

#include "ddp/v1/metric.pb.h"

namespace ddp {

inline constexpr size_t kLongestSeriesName = 200;

// It has a name of 1 to 200 bytes, and as many steps as times and values.
inline bool IsColumn(const v1::MetricColumn& column) {
  return !column.series().empty() && column.series().size() <= kLongestSeriesName &&
         column.step_size() == column.time_size() && column.step_size() == column.value_size();
}

// How many points it has, or would have if it were a column.
inline uint64_t PointsOf(const v1::MetricColumn& column) {
  return static_cast<uint64_t>(std::max({column.step_size(), column.time_size(), column.value_size()}));
}

inline uint64_t PointsOf(const google::protobuf::RepeatedPtrField<v1::MetricColumn>& columns) {
  uint64_t points = 0;
  for (const v1::MetricColumn& column : columns) points += PointsOf(column);
  return points;
}

}  // namespace ddp

#endif  // DDP_SERVER_METRICS_COLUMNS_H_
