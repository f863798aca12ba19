#include "server/metrics/x_axis.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace ddp {

double StepsPerEpoch(const v1::Job& job) {
  for (auto attempt = job.attempts().rbegin(); attempt != job.attempts().rend(); ++attempt) {
    const auto fact = attempt->facts().find("steps_per_epoch");
    int64_t steps = 0;
    if (fact != attempt->facts().end() && absl::SimpleAtoi(fact->second, &steps) && steps > 0) {
      return static_cast<double>(steps);
    }
  }
  return 0;
}

absl::StatusOr<XAxis> XAxis::Make(v1::XAxis axis, double steps_per_epoch, double start_time) {
  XAxis result;
  switch (axis) {
    case v1::X_AXIS_UNSPECIFIED:
    case v1::X_AXIS_STEP:
      return result;
    case v1::X_AXIS_EPOCH:
      if (steps_per_epoch <= 0) {
        return absl::FailedPreconditionError(
            "x_axis is X_AXIS_EPOCH, but the job has not said how many steps an epoch has; ask for X_AXIS_STEP");
      }
      result.scale_ = steps_per_epoch;
      return result;
    case v1::X_AXIS_WALL_TIME:
      result.by_time_ = true;
      return result;
    case v1::X_AXIS_RELATIVE_TIME:
      result.by_time_ = true;
      result.origin_ = start_time;
      return result;
    default:
      return absl::InvalidArgumentError(absl::StrCat("x_axis is ", static_cast<int>(axis),
                                                     "; it must be one of the values of XAxis in metric.proto"));
  }
}

absl::Span<const Point> XAxis::Range(std::vector<Point>& points, double from, double to) const {
  // Times fall where steps were trained again, after a rollback, and in what was measured elsewhere.
  const auto earlier = [](const Point& a, const Point& b) { return a.time < b.time; };
  if (by_time_ && !std::is_sorted(points.begin(), points.end(), earlier)) {
    std::stable_sort(points.begin(), points.end(), earlier);
  }
  const auto begin =
      std::partition_point(points.begin(), points.end(), [&](const Point& point) { return At(point) < from; });
  const auto end = std::partition_point(begin, points.end(), [&](const Point& point) { return At(point) <= to; });
  return absl::MakeConstSpan(points.data() + (begin - points.begin()), static_cast<size_t>(end - begin));
}

}  // namespace ddp
