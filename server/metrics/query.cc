#include "server/metrics/query.h"

#include <algorithm>
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
  return absl::OkStatus();
}

// attempt 0: the merged view.
absl::StatusOr<PointsBySeries> ReadPoints(Reader& reader, const std::string& job_id, int32_t attempt) {
  MergedView view;
  v1::MetricBatch batch;
  uint64_t after = 0;
  while (true) {
    DDP_ASSIGN_OR_RETURN(const std::vector<MetricChunk> page,
                         reader.Chunks(job_id, after, std::numeric_limits<uint64_t>::max(), kPageBytes));
    if (page.empty()) return std::move(view).Take();
    after = page.back().seq;
    for (const MetricChunk& chunk : page) {
      if (attempt != 0 && chunk.attempt != attempt) continue;
      if (!batch.ParseFromString(chunk.batch)) {
        return absl::DataLossError(absl::StrCat("job ", job_id, ": metric chunk ", chunk.seq, " is unreadable"));
      }
      view.Add(chunk.attempt, chunk.start_step, batch);
    }
  }
}

absl::Span<const Point> Range(const std::vector<Point>& points, int64_t from_step, int64_t to_step) {
  const auto begin = std::partition_point(points.begin(), points.end(),
                                          [from_step](const Point& point) { return point.step < from_step; });
  const auto end = to_step == 0 ? points.end()
                                : std::partition_point(begin, points.end(),
                                                       [to_step](const Point& point) { return point.step <= to_step; });
  return absl::MakeConstSpan(points.data() + (begin - points.begin()), static_cast<size_t>(end - begin));
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

absl::StatusOr<v1::QueryMetricsResponse> QueryMetrics(Reader& reader, const v1::QueryMetricsRequest& request) {
  DDP_RETURN_IF_ERROR(Validate(request));
  DDP_ASSIGN_OR_RETURN(const PointsBySeries all, ReadPoints(reader, request.job_id(), request.attempt()));
  const std::set<std::string> wanted(request.series().begin(), request.series().end());
  v1::QueryMetricsResponse response;
  for (const auto& [series, points] : all) {
    if (!wanted.empty() && wanted.count(series) == 0) continue;
    const absl::Span<const Point> range = Range(points, request.from_step(), request.to_step());
    if (request.max_buckets() == 0) {
      FillColumn(series, range, *response.add_columns());
      continue;
    }
    v1::BucketColumn& column = *response.add_buckets();
    column.set_series(series);
    for (v1::Bucket& bucket : Bucketize(range, request.max_buckets())) *column.add_buckets() = std::move(bucket);
  }
  return response;
}

absl::StatusOr<v1::ListSeriesResponse> ListSeries(Reader& reader, const std::string& job_id) {
  DDP_ASSIGN_OR_RETURN(const PointsBySeries all, ReadPoints(reader, job_id, 0));
  v1::ListSeriesResponse response;
  for (const auto& [series, points] : all) *response.add_series() = Summarize(series, points);
  return response;
}

}  // namespace ddp
