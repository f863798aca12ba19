#include "worker/train/watch.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace ddp {

HistogramReport HistogramOf(std::string series, int64_t step, const at::Tensor& tensor, double scale) {
  const at::Tensor host = tensor.detach().to(at::kCPU, at::kFloat).contiguous();
  const float* values = host.const_data_ptr<float>();
  const int64_t n = host.numel();
  HistogramReport report{.series = std::move(series), .step = step};
  float low = INFINITY;
  float high = -INFINITY;
  for (int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(values[i])) {
      ++report.non_finite;
      continue;
    }
    low = std::min(low, values[i]);
    high = std::max(high, values[i]);
  }
  if (low > high) return report;
  report.min = low * scale;
  report.max = high * scale;
  const auto bins = static_cast<int64_t>(report.counts.size());
  const double bins_per_unit = high > low ? static_cast<double>(bins) / (static_cast<double>(high) - low) : 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(values[i])) continue;
    const auto bin = static_cast<int64_t>((static_cast<double>(values[i]) - low) * bins_per_unit);
    ++report.counts[static_cast<size_t>(std::min(bin, bins - 1))];
  }
  return report;
}

}  // namespace ddp
