#include "server/metrics/merged_view.h"

#include <algorithm>
#include <utility>

namespace ddp {

void MergedView::Add(int32_t attempt, int64_t start_step, const v1::MetricBatch& batch) {
  if (attempt != attempt_) {
    attempt_ = attempt;
    for (auto& [name, points] : series_) {
      std::erase_if(points, [start_step](const Point& point) { return point.step > start_step; });
    }
  }
  for (const v1::MetricColumn& column : batch.columns()) {
    std::vector<Point>& points = series_[column.series()];
    const int count = std::min({column.step_size(), column.time_size(), column.value_size()});
    for (int i = 0; i < count; ++i) points.push_back({column.step(i), column.time(i), column.value(i)});
  }
}

std::map<std::string, std::vector<Point>> MergedView::Take() && {
  const auto earlier = [](const Point& a, const Point& b) { return a.step < b.step; };
  for (auto& [name, points] : series_) {
    if (!std::is_sorted(points.begin(), points.end(), earlier)) {
      std::stable_sort(points.begin(), points.end(), earlier);
    }
  }
  return std::move(series_);
}

}  // namespace ddp
