#include "server/metrics/query.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "server/metrics/buckets.h"
#include "server/metrics/merged_view.h"
#include "server/metrics/x_axis.h"

namespace ddp {
namespace {

using PointsBySeries = std::map<std::string, std::vector<Point>>;
constexpr size_t kPageBytes = size_t{4} << 20;

absl::Status Validate(const v1::QueryMetricsRequest& request) {
  const auto wrong = [](std::string_view field, int64_t value, std::string_view want) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(field), " is ", value, "; it must be ", std::string(want)));
  };
  if (request.attempt() < 0)
    return wrong("attempt", request.attempt(), "0 (all attempts, merged) or an attempt's number");
  if (request.from_step() < 0) return wrong("from_step", request.from_step(), "at least 0");
  if (request.to_step() < 0) return wrong("to_step", request.to_step(), "at least 0 (0: no limit)");
  if (request.max_buckets() < 0 || request.max_buckets() > kMaxBuckets) {
    return wrong("max_buckets", request.max_buckets(), absl::StrCat("0 (every point) to ", kMaxBuckets));
  }
  const bool by_x = request.has_from_x() || request.has_to_x();
  if (by_x && (request.from_step() != 0 || request.to_step() != 0)) {
    return absl::InvalidArgumentError(
        "from_x and to_x cannot be combined with from_step and to_step; leave out one pair");
  }
  if (std::isnan(request.from_x()) || std::isnan(request.to_x())) {
    return absl::InvalidArgumentError("from_x and to_x must be numbers, not NaN");
  }
  return absl::OkStatus();
}

struct JobPoints {
  PointsBySeries series;
  uint64_t seq = 0;       // the newest batch that is contained
  double start_time = 0;  // of the earliest point, over all series and attempts
};

// attempt 0: the merged view.
absl::StatusOr<JobPoints> ReadPoints(Reader& reader, const std::string& job_id, int32_t attempt) {
  MergedView view;
  JobPoints points;
  points.start_time = std::numeric_limits<double>::infinity();
  v1::MetricBatch batch;
  while (true) {
    DDP_ASSIGN_OR_RETURN(const std::vector<MetricChunk> page,
                         reader.Chunks(job_id, points.seq, std::numeric_limits<uint64_t>::max(), kPageBytes));
    if (page.empty()) break;
    points.seq = page.back().seq;
    for (const MetricChunk& chunk : page) {
      if (!batch.ParseFromString(chunk.batch)) {
        return absl::DataLossError(absl::StrCat("job ", job_id, ": metric chunk ", chunk.seq, " is unreadable"));
      }
      for (const v1::MetricColumn& column : batch.columns()) {
        for (const double time : column.time()) points.start_time = std::min(points.start_time, time);
      }
      if (attempt == 0 || chunk.attempt == attempt) view.Add(chunk.attempt, chunk.start_step, batch);
    }
  }
  points.series = std::move(view).Take();
  return points;
}

absl::Span<const Point> Range(const v1::QueryMetricsRequest& request, const XAxis& axis, std::vector<Point>& points) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto begin = std::partition_point(points.begin(), points.end(),
                                          [&](const Point& point) { return point.step < request.from_step(); });
  points.erase(points.begin(), begin);
  if (request.to_step() != 0) {
    points.erase(std::partition_point(points.begin(), points.end(),
                                      [&](const Point& point) { return point.step <= request.to_step(); }),
                 points.end());
  }
  return axis.Range(points, request.has_from_x() ? request.from_x() : -kInfinity,
                    request.has_to_x() ? request.to_x() : kInfinity);
}

void FillColumn(const std::string& series, absl::Span<const Point> points, v1::MetricColumn& column) {
  column.set_series(series);
  for (const Point& point : points) {
    column.add_step(point.step);
    column.add_time(point.time);
    column.add_value(point.value);
  }
}

}  // namespace

absl::StatusOr<v1::QueryMetricsResponse> QueryMetrics(Reader& reader, const v1::QueryMetricsRequest& request,
                                                      double steps_per_epoch) {
  DDP_RETURN_IF_ERROR(Validate(request));
  DDP_ASSIGN_OR_RETURN(JobPoints job, ReadPoints(reader, request.job_id(), request.attempt()));
  DDP_ASSIGN_OR_RETURN(const XAxis axis, XAxis::Make(request.x_axis(), steps_per_epoch, job.start_time));
  const std::set<std::string> wanted(request.series().begin(), request.series().end());
  v1::QueryMetricsResponse response;
  response.set_seq(job.seq);
  for (auto& [series, points] : job.series) {
    if (!wanted.empty() && wanted.count(series) == 0) continue;
    const absl::Span<const Point> range = Range(request, axis, points);
    if (request.max_buckets() == 0) {
      FillColumn(series, range, *response.add_columns());
      continue;
    }
    v1::BucketColumn& column = *response.add_buckets();
    column.set_series(series);
    for (v1::Bucket& bucket : Bucketize(range, request.max_buckets(), axis)) *column.add_buckets() = std::move(bucket);
  }
  return response;
}

absl::StatusOr<v1::ListSeriesResponse> ListSeries(Reader& reader, const std::string& job_id) {
  DDP_ASSIGN_OR_RETURN(const JobPoints job, ReadPoints(reader, job_id, 0));
  v1::ListSeriesResponse response;
  for (const auto& [series, points] : job.series) *response.add_series() = Summarize(series, points);
  DDP_ASSIGN_OR_RETURN(const std::vector<SeriesExtent> histograms, reader.HistogramExtents(job_id));
  for (const SeriesExtent& extent : histograms) {
    v1::SeriesSummary& summary = *response.add_series();
    summary.set_series(extent.series);
    summary.set_count(extent.steps);
    summary.set_last_step(extent.last_step);
    summary.set_type(v1::POINT_TYPE_HISTOGRAM);
  }
  return response;
}

absl::Status ValidateQueryJobs(const v1::QueryJobsRequest& request) {
  if (request.job_ids_size() > kMaxQueriedJobs) {
    return absl::InvalidArgumentError(
        absl::StrCat("job_ids has ", request.job_ids_size(), " entries; at most ", kMaxQueriedJobs, " are allowed"));
  }
  if (!request.query().job_id().empty()) {
    return absl::InvalidArgumentError("query.job_id must be empty: the jobs are in job_ids");
  }
  if (request.query().max_buckets() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("query.max_buckets is ", request.query().max_buckets(), "; it must be 1 to ", kMaxBuckets));
  }
  return Validate(request.query());
}

absl::StatusOr<v1::QueryJobsResponse> QueryJobs(Reader& reader, const std::vector<v1::Job>& jobs,
                                                v1::QueryMetricsRequest query, size_t max_bytes) {
  v1::QueryJobsResponse response;
  size_t bytes = 0;
  for (const v1::Job& job : jobs) {
    query.set_job_id(job.id());
    absl::StatusOr<v1::QueryMetricsResponse> one = QueryMetrics(reader, query, StepsPerEpoch(job));
    if (!one.ok()) {
      return absl::Status(one.status().code(),
                          absl::StrCat("job ", job.id(), ": ", std::string(one.status().message())));
    }
    bytes += one->ByteSizeLong();
    if (bytes > max_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the buckets asked for are more than ", max_bytes,
                       " bytes: ask for fewer jobs, fewer series, or fewer buckets (query.max_buckets)"));
    }
    *response.add_jobs() = *std::move(one);
  }
  return response;
}

}  // namespace ddp
