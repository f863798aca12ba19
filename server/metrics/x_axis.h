// What points are laid along when they are asked for.
#ifndef DDP_SERVER_METRICS_X_AXIS_H_
#define DDP_SERVER_METRICS_X_AXIS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ddp/v1/job.pb.h"
#include "ddp/v1/metric.pb.h"
#include "server/metrics/merged_view.h"

namespace ddp {

// What the newest attempt that has said it has said: optimizer steps of an epoch. 0: none has.
double StepsPerEpoch(const v1::Job& job);

// A plain value.
class XAxis {
 public:
  // start_time: of the job's first point. FailedPrecondition: epochs of unknown length. InvalidArgument: no such axis.
  static absl::StatusOr<XAxis> Make(v1::XAxis axis, double steps_per_epoch, double start_time);

  double At(const Point& point) const { return by_time_ ? point.time - origin_ : StepAt(point); }
  // The points with from <= x <= to, rising along the axis; `points` are rising by step and may be reordered.
  absl::Span<const Point> Range(std::vector<Point>& points, double from, double to) const;

 private:
  double StepAt(const Point& point) const { return static_cast<double>(point.step) / scale_; }

  bool by_time_ = false;
  double origin_ = 0;
  double scale_ = 1;
};

}  // namespace ddp

#endif  // DDP_SERVER_METRICS_X_AXIS_H_
