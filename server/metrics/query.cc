#include "server/metrics/query.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "server/metrics/buckets.h"
#include "server/metrics/merged_view.h"
#include "server/metrics/x_axis.h"
#include "server/store/raw_columns.h"

namespace ddp {
namespace {

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
  MergedView::Series series;
  uint64_t seq = 0;       // the newest batch that is contained
  double start_time = 0;  // of the earliest point, over all series and attempts; only when it was asked for
};

// attempt 0: the merged view. wanted: series; empty: all.
absl::StatusOr<JobPoints> ReadPoints(Reader& reader, const std::string& job_id, int32_t attempt,
                                     std::set<std::string, std::less<>> wanted, bool with_start_time) {
  MergedView view(std::move(wanted));
  JobPoints points;
  points.start_time = std::numeric_limits<double>::infinity();
  const auto take = [&](const ChunkView& chunk) {
    points.seq = chunk.seq;
    bool readable = true;
    if (with_start_time) {
      readable = ReadColumns(chunk.batch, [&](const RawColumn& column) {
        points.start_time = EarliestTime(column, points.start_time);
        return true;
      });
    }
    if (attempt == 0 || chunk.attempt == attempt) readable &= view.Add(chunk.attempt, chunk.start_step, chunk.batch);
    if (readable) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("job ", job_id, ": metric chunk ", chunk.seq, " is unreadable"));
  };
  DDP_RETURN_IF_ERROR(reader.ForEachChunk(job_id, take));
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
  DDP_ASSIGN_OR_RETURN(JobPoints job, ReadPoints(reader, request.job_id(), request.attempt(),
                                                 {request.series().begin(), request.series().end()},
                                                 request.x_axis() == v1::X_AXIS_RELATIVE_TIME));
  DDP_ASSIGN_OR_RETURN(const XAxis axis, XAxis::Make(request.x_axis(), steps_per_epoch, job.start_time));
  v1::QueryMetricsResponse response;
  response.set_seq(job.seq);
  for (auto& [series, points] : job.series) {
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
  DDP_ASSIGN_OR_RETURN(std::vector<v1::SeriesSummary> summaries, reader.SeriesSummaries(job_id));
  v1::ListSeriesResponse response;
  for (v1::SeriesSummary& summary : summaries) *response.add_series() = std::move(summary);
  const auto add = [&response](const std::vector<SeriesExtent>& extents, v1::PointType type) {
    for (const SeriesExtent& extent : extents) {
      v1::SeriesSummary& summary = *response.add_series();
      summary.set_series(extent.series);
      summary.set_count(extent.steps);
      summary.set_last_step(extent.last_step);
      summary.set_type(type);
    }
  };
  DDP_ASSIGN_OR_RETURN(const std::vector<SeriesExtent> histograms, reader.HistogramExtents(job_id));
  add(histograms, v1::POINT_TYPE_HISTOGRAM);
  DDP_ASSIGN_OR_RETURN(const std::vector<SeriesExtent> texts, reader.TextExtents(job_id));
  add(texts, v1::POINT_TYPE_TEXT);
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
