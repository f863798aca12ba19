#include "server/metrics/buckets.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace ddp {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

v1::Bucket MakeBucket(absl::Span<const Point> points) {
  double min = kNan;
  double max = kNan;
  double sum = 0;
  int64_t finite = 0;
  int64_t first_step = points.front().step;  // along a time axis steps may fall
  int64_t last_step = first_step;
  for (const Point& point : points) {
    first_step = std::min(first_step, point.step);
    last_step = std::max(last_step, point.step);
    if (!std::isfinite(point.value)) continue;
    min = finite == 0 ? point.value : std::min(min, point.value);
    max = finite == 0 ? point.value : std::max(max, point.value);
    sum += point.value;
    ++finite;
  }
  v1::Bucket bucket;
  bucket.set_first_step(first_step);
  bucket.set_last_step(last_step);
  bucket.set_min(min);
  bucket.set_max(max);
  bucket.set_first(points.front().value);
  bucket.set_last(points.back().value);
  bucket.set_mean(finite == 0 ? kNan : sum / static_cast<double>(finite));
  bucket.set_count(static_cast<int64_t>(points.size()));
  bucket.set_non_finite(static_cast<int64_t>(points.size()) - finite);
  return bucket;
}

}  // namespace

std::vector<v1::Bucket> Bucketize(absl::Span<const Point> points, int max_buckets, const XAxis& axis) {
  std::vector<v1::Bucket> buckets;
  const size_t count = std::min(points.size(), static_cast<size_t>(max_buckets));
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = points.size() * i / count;
    const size_t end = points.size() * (i + 1) / count;
    v1::Bucket& bucket = buckets.emplace_back(MakeBucket(points.subspan(begin, end - begin)));
    bucket.set_first_x(axis.At(points[begin]));
    bucket.set_last_x(axis.At(points[end - 1]));
  }
  return buckets;
}

}  // namespace ddp
