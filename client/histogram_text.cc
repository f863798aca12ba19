#include "client/histogram_text.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/text.h"

namespace ddp {

namespace {

std::string Bars(const v1::Histogram& histogram) {
  static constexpr const char* kBars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const auto& counts = histogram.counts();
  const int64_t largest = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  std::string bars;
  for (const int64_t count : counts) {
    // Rounded up; in double, since eight times a count may be more than an int64 holds.
    const double eighths = count <= 0 ? 0 : 8 * (static_cast<double>(count) / static_cast<double>(largest));
    bars += kBars[std::clamp(static_cast<int>(eighths) + (eighths > static_cast<int>(eighths) ? 1 : 0), 0, 8)];
  }
  return bars;
}

}  // namespace

double ApproximateMean(const v1::Histogram& histogram) {
  const auto& counts = histogram.counts();
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  if (!(total > 0)) return std::numeric_limits<double>::quiet_NaN();
  const double width = (histogram.max() - histogram.min()) / counts.size();
  double sum = 0;
  for (int i = 0; i < counts.size(); ++i) sum += static_cast<double>(counts[i]) * (i + 0.5);
  return histogram.min() + width * (sum / total);
}

std::string HistogramText(const v1::Histogram& histogram) {
  const int64_t total = std::accumulate(histogram.counts().begin(), histogram.counts().end(), int64_t{0});
  std::string text = absl::StrCat(EscapeControls(histogram.series()), "  step ", histogram.step(), "  ");
  if (total > 0) {
    absl::StrAppendFormat(&text, "%d value%s, mean about %.3g", total, total == 1 ? "" : "s",
                          ApproximateMean(histogram));
  } else {
    absl::StrAppend(&text, "no finite value");
  }
  if (histogram.non_finite() > 0) absl::StrAppend(&text, ", ", histogram.non_finite(), " not finite");
  if (total > 0) {
    absl::StrAppendFormat(&text, "\n%12.4g |%s| %.4g", histogram.min(), Bars(histogram), histogram.max());
  }
  return text + "\n";
}

}  // namespace ddp
