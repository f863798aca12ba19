// Answers to ListSeries and Query from what is stored.
#ifndef DDP_SERVER_METRICS_QUERY_H_
#define DDP_SERVER_METRICS_QUERY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ddp/v1/job.pb.h"
#include "ddp/v1/metric.pb.h"
#include "server/store/reader.h"

namespace ddp {

inline constexpr int kMaxBuckets = 100000;
inline constexpr int kMaxQueriedJobs = 200;
inline constexpr int kMaxListedJobs = 1000;
inline constexpr size_t kMaxJobsBytes = size_t{64} << 20;

// Thread-safe; block on the store. The job id is complete; a job without points gives an empty answer. InvalidArgument
// names the field that makes no sense.
// steps_per_epoch: 0 when they are not known, FailedPrecondition when the request needs them.
absl::StatusOr<v1::QueryMetricsResponse> QueryMetrics(Reader& reader, const v1::QueryMetricsRequest& request,
                                                      double steps_per_epoch = 0);
absl::StatusOr<v1::ListSeriesResponse> ListSeries(Reader& reader, const std::string& job_id);

// Whether the request makes sense as far as this can be said without the jobs.
absl::Status ValidateQueryJobs(const v1::QueryJobsRequest& request);
// query: of a valid QueryJobsRequest. ResourceExhausted: the answer is above max_bytes.
absl::StatusOr<v1::QueryJobsResponse> QueryJobs(Reader& reader, const std::vector<v1::Job>& jobs,
                                                v1::QueryMetricsRequest query, size_t max_bytes = kMaxJobsBytes);

}  // namespace ddp

#endif  // DDP_SERVER_METRICS_QUERY_H_
