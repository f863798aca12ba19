// Answers to ListSeries and Query from what is stored.
#ifndef DDP_SERVER_METRICS_QUERY_H_
#define DDP_SERVER_METRICS_QUERY_H_

#include <string>

#include "absl/status/statusor.h"
#include "ddp/v1/metric.pb.h"
#include "server/store/reader.h"

namespace ddp {

inline constexpr int kMaxBuckets = 100000;

// Thread-safe; block on the store. The job id is complete; a job without points gives an empty answer. InvalidArgument
// names the field that makes no sense.
absl::StatusOr<v1::QueryMetricsResponse> QueryMetrics(Reader& reader, const v1::QueryMetricsRequest& request);
absl::StatusOr<v1::ListSeriesResponse> ListSeries(Reader& reader, const std::string& job_id);

}  // namespace ddp

#endif  // DDP_SERVER_METRICS_QUERY_H_
