// Line charts as lines of text. Pure functions.
#ifndef DDP_CLIENT_PLOT_CHART_H_
#define DDP_CLIENT_PLOT_CHART_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/plot/glyphs.h"
#include "ddp/v1/metric.pb.h"

namespace ddp {

// One or more neighbouring points of a series.
struct ChartPoint {
  double first_x, last_x;
  double min, max;  // of the finite values; NaN: there are none
  double first, last, mean;
  int64_t non_finite = 0;
};

struct ChartSeries {
  std::string name;
  std::vector<ChartPoint> points;  // by rising x
};

struct ChartOptions {
  int width = 80;   // columns, at least 20
  int height = 12;  // rows of the drawing, without heading and axis; at least 3
  v1::XAxis x = v1::X_AXIS_STEP;
  bool log_y = false;
  double smooth = 0;  // 0: not; towards 1: more (see Smooth)
  Glyphs glyphs = Glyphs::kUnicode;
  bool color = false;
  absl::TimeZone zone = absl::UTCTimeZone();
};

// How many dots lie side by side in any chart so wide: more buckets than that cannot be seen.
int ChartBuckets(int width);

// One chart with all series: a heading for each, the drawing with its axes, and no line wider than `width`. Each bucket
// is drawn from its smallest to its largest value, so that no spike is lost; with `smooth` the smoothed line, and of
// what it hides the two ends. Where a value was not finite, the x axis has a cross. The lines hold no control
// characters but those of colours.
std::vector<std::string> Chart(const std::vector<ChartSeries>& series, const ChartOptions& options);

// TensorBoard's: an exponential moving average that is not drawn towards its beginning. What is not finite stays as it
// is and is not counted; a series of one value stays as it is.
std::vector<double> Smooth(const std::vector<double>& values, double weight);

}  // namespace ddp

#endif  // DDP_CLIENT_PLOT_CHART_H_
