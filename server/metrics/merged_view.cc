#include "server/metrics/merged_view.h"

#include <algorithm>
#include <utility>

#include "server/store/raw_columns.h"

namespace ddp {

bool MergedView::Add(int32_t attempt, int64_t start_step, std::string_view batch) {
  if (attempt != attempt_) {
    attempt_ = attempt;
    for (auto& [name, points] : series_) {
      std::erase_if(points, [start_step](const Point& point) { return point.step > start_step; });
    }
  }
  return ReadColumns(batch, [this](const RawColumn& column) {
    if (!wanted_.empty() && !wanted_.contains(column.series)) return true;
    auto found = series_.find(column.series);
    if (found == series_.end()) found = series_.emplace(column.series, std::vector<Point>()).first;
    return AppendPoints(column, found->second);
  });
}

MergedView::Series MergedView::Take() && {
  const auto earlier = [](const Point& a, const Point& b) { return a.step < b.step; };
  for (auto& [name, points] : series_) {
    if (!std::is_sorted(points.begin(), points.end(), earlier)) {
      std::stable_sort(points.begin(), points.end(), earlier);
    }
  }
  return std::move(series_);
}

}  // namespace ddp
