#include "client/exchange/rebin.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ddp {

namespace {
constexpr int kBins = 64;
// Counts stay exact in a double, and their sum in an int64.
constexpr double kLargestSum = 9007199254740992.0;
}  // namespace

std::optional<v1::Histogram> Rebin(std::vector<Bin> bins, double min, double max) {
  if (!std::isfinite(min) || !std::isfinite(max) || min > max) return std::nullopt;
  double sum = 0;
  double reached = -std::numeric_limits<double>::infinity();
  for (Bin& bin : bins) {
    if (std::isnan(bin.left) || std::isnan(bin.right) || bin.left > bin.right || bin.left < reached)
      return std::nullopt;
    if (!(bin.count >= 0) || !(bin.count <= kLargestSum)) return std::nullopt;
    reached = bin.right;
    bin.left = std::clamp(bin.left, min, max);
    bin.right = std::clamp(bin.right, min, max);
    sum += bin.count;
  }
  if (sum > kLargestSum) return std::nullopt;
  v1::Histogram histogram;
  histogram.set_min(min);
  histogram.set_max(max);
  histogram.mutable_counts()->Resize(kBins, 0);
  if (min == max) {
    histogram.set_counts(kBins - 1, std::llround(sum));
    return histogram;
  }
  // How many values lie below each border: each count is the difference of two rounded sums, so the rounded total
  // stays.
  const double width = max / kBins - min / kBins;
  int64_t before = 0;
  size_t next = 0;
  double whole = 0;  // of the bins that lie below the border
  for (int i = 0; i < kBins; ++i) {
    const double border = i + 1 == kBins ? max : min + width * (i + 1);
    const bool last = i + 1 == kBins;
    while (next < bins.size() && (last || (bins[next].right <= border && bins[next].left < border))) {
      whole += bins[next++].count;
    }
    double below = whole;
    if (next < bins.size() && bins[next].left < border) {
      const Bin& bin = bins[next];
      below += bin.count * ((border / 2 - bin.left / 2) / (bin.right / 2 - bin.left / 2));
    }
    const int64_t rounded = std::llround(below);
    histogram.set_counts(i, rounded - before);
    before = rounded;
  }
  return histogram;
}

}  // namespace ddp
