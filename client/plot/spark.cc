#include "client/plot/spark.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ddp {

void Spark::Merge(Stretch& into, const Stretch& from) {
  if (from.finite) into.max = into.finite ? std::max(into.max, from.max) : from.max;
  into.finite |= from.finite;
  into.non_finite |= from.non_finite;
  into.last = std::max(into.last, from.last);
}

void Spark::Add(int64_t step, double value) {
  while (!stretches_.empty() && stretches_.back().first >= step) stretches_.pop_back();
  // Its largest value may have been a superseded one; what is left of the stretch is before this step.
  if (!stretches_.empty()) stretches_.back().last = std::min(stretches_.back().last, step - 1);
  const Stretch added{step, step, value, std::isfinite(value), !std::isfinite(value)};
  if (!stretches_.empty() && step - stretches_.back().first < steps_per_stretch_) {
    Merge(stretches_.back(), added);
  } else {
    stretches_.push_back(added);
  }
  while (stretches_.size() > kStretches) {
    steps_per_stretch_ *= 2;
    std::vector<Stretch> merged;
    for (const Stretch& stretch : stretches_) {
      if (!merged.empty() && stretch.first - merged.back().first < steps_per_stretch_) {
        Merge(merged.back(), stretch);
      } else {
        merged.push_back(stretch);
      }
    }
    stretches_ = std::move(merged);
  }
}

std::string Spark::Text(int cells, Glyphs glyphs) const {
  static constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr const char* kAscii[] = {"_", ".", "-", "~", "=", "+", "*", "#"};
  if (cells < 1 || stretches_.empty() || stretches_.front().first == stretches_.back().last) return "";
  const int64_t first = stretches_.front().first;
  const int64_t steps = stretches_.back().last - first + 1;
  const int64_t columns = std::min<int64_t>(cells, static_cast<int64_t>(stretches_.size()));
  std::vector<Stretch> drawn(static_cast<size_t>(columns), {0, 0, 0, false, false});
  double lo = std::numeric_limits<double>::infinity(), hi = -lo;
  for (const Stretch& stretch : stretches_) {
    const double part = static_cast<double>(stretch.first - first) / static_cast<double>(steps);
    Merge(drawn[static_cast<size_t>(part * static_cast<double>(columns))], stretch);
    if (stretch.finite) lo = std::min(lo, stretch.max), hi = std::max(hi, stretch.max);
  }
  std::string text;
  for (const Stretch& cell : drawn) {
    if (cell.non_finite) {
      text += "!";
    } else if (!cell.finite) {
      text += " ";
    } else {
      const double part = hi > lo ? (cell.max / 2 - lo / 2) / (hi / 2 - lo / 2) : 0.5;
      const auto level = static_cast<size_t>(std::clamp(static_cast<int>(std::floor(part * 8)), 0, 7));
      text += glyphs == Glyphs::kUnicode ? kBars[level] : kAscii[level];
    }
  }
  return text;
}

}  // namespace ddp
