#include "client/plot/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/columns.h"
#include "client/plot/canvas.h"
#include "client/plot/ticks.h"
#include "common/text.h"

namespace ddp {

namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// The range of an axis, and where a value lies on it: 0 to 1.
class Scale {
 public:
  Scale(double lo, double hi, bool log) : log_(log), lo_(lo), hi_(hi) {
    if (lo_ < hi_) return;
    // A flat line lies in the middle.
    const double room = log ? 0 : lo_ == 0 ? 1 : std::abs(lo_) / 2;
    lo_ = log ? lo_ / 2 : lo_ - room;
    hi_ = log ? hi_ * 2 : hi_ + room;
  }
  double lo() const { return lo_; }
  double hi() const { return hi_; }
  bool Shows(double value) const { return std::isfinite(value) && (!log_ || value > 0); }
  double Part(double value) const {
    const double v = std::clamp(value, lo_, hi_);
    if (log_) return (std::log(v) - std::log(lo_)) / (std::log(hi_) - std::log(lo_));
    return (v / 2 - lo_ / 2) / (hi_ / 2 - lo_ / 2);  // halved: the difference may be more than a double holds
  }
  int Dot(double value, int dots) const { return static_cast<int>(std::lround(Part(value) * (dots - 1))); }

 private:
  const bool log_;
  double lo_, hi_;
};

struct Range {
  double lo = std::numeric_limits<double>::infinity();
  double hi = -std::numeric_limits<double>::infinity();
  void Add(double value) {
    lo = std::min(lo, value);
    hi = std::max(hi, value);
  }
  bool empty() const { return lo > hi; }
};

// A series as it is drawn.
struct Curve {
  const ChartSeries* series;
  std::vector<double> smoothed;  // empty: not wanted
};

Range RangeOfY(const std::vector<ChartSeries>& series, bool log) {
  Range range;
  for (const ChartSeries& s : series) {
    for (const ChartPoint& p : s.points) {
      for (const double value : {p.min, p.max}) {
        if (std::isfinite(value) && (!log || value > 0)) range.Add(value);
      }
    }
  }
  return range;
}

Range RangeOfX(const std::vector<ChartSeries>& series) {
  Range range;
  for (const ChartSeries& s : series) {
    for (const ChartPoint& p : s.points) range.Add(p.first_x), range.Add(p.last_x);
  }
  return range;
}

void Draw(const Curve& curve, const Scale& x, const Scale& y, int ink, bool color, Canvas& canvas) {
  const auto row = [&](double value) { return canvas.height() - 1 - y.Dot(value, canvas.height()); };
  const auto column = [&](double value) { return x.Dot(value, canvas.width()); };
  const std::vector<ChartPoint>& points = curve.series->points;
  const bool smooth = !curve.smoothed.empty();
  // First what lies behind.
  for (const ChartPoint& p : points) {
    if (!y.Shows(p.max)) continue;
    const int at = column(p.first_x / 2 + p.last_x / 2);
    const int top = row(p.max);
    const int bottom = y.Shows(p.min) ? row(p.min) : canvas.height() - 1;
    if (smooth) {
      canvas.Dot(at, top, color ? kDimInk : ink);
      canvas.Dot(at, bottom, color ? kDimInk : ink);
    } else {
      canvas.Line(at, top, at, bottom, ink);
    }
  }
  double from_x = 0, from_y = kNothing;
  const auto go_to = [&](double to_x, double to_y) {
    if (y.Shows(to_y)) {
      if (std::isnan(from_y)) {
        canvas.Dot(column(to_x), row(to_y), ink);
      } else {
        canvas.Line(column(from_x), row(from_y), column(to_x), row(to_y), ink);
      }
    }
    from_x = to_x;
    from_y = y.Shows(to_y) ? to_y : kNothing;
  };
  for (size_t i = 0; i < points.size(); ++i) {
    const ChartPoint& p = points[i];
    if (smooth) {
      go_to(p.first_x / 2 + p.last_x / 2, curve.smoothed[i]);
    } else {
      go_to(p.first_x, p.first);
      // Where first and last lie in one column, the line to the next begins at the last.
      if (p.last_x > p.first_x) go_to(p.last_x, p.last);
    }
  }
}

std::string NumberText(double value) { return std::isnan(value) ? "nan" : absl::StrFormat("%.5g", value); }

std::string XText(double x, const ChartOptions& options) {
  switch (options.x) {
    case v1::X_AXIS_WALL_TIME:
      return absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixSeconds(std::llround(x)), options.zone);
    case v1::X_AXIS_RELATIVE_TIME:
      return absl::StrFormat("%.5g s", x);
    case v1::X_AXIS_EPOCH:
      return absl::StrFormat("epoch %.5g", x);
    default:
      return absl::StrFormat("step %.0f", x);
  }
}

// "loss  0.5 at step 90  min 0.4  max 9.3  2 x not finite"; what does not fit is left out from the right.
std::string Heading(const ChartSeries& series, int ink, bool marked, const ChartOptions& options) {
  Range range;
  int64_t non_finite = 0, hidden = 0;
  for (const ChartPoint& p : series.points) {
    if (std::isfinite(p.min)) range.Add(p.min), range.Add(p.max);
    if (options.log_y && p.min <= 0) ++hidden;
    non_finite += p.non_finite;
  }
  std::vector<std::string> parts{absl::StrCat(
      marked ? absl::StrCat(std::string(1, Canvas::Mark(ink)), " ") : std::string(), EscapeControls(series.name))};
  if (series.points.empty()) {
    parts.push_back("no points");
  } else {
    const ChartPoint& last = series.points.back();
    parts.push_back(absl::StrCat(NumberText(last.last), " at ", XText(last.last_x, options)));
  }
  if (!range.empty()) {
    parts.push_back("min " + NumberText(range.lo));
    parts.push_back("max " + NumberText(range.hi));
  }
  if (non_finite > 0) {
    parts.push_back(absl::StrCat(non_finite, " not finite ", options.glyphs == Glyphs::kUnicode ? "(×)" : "(x)"));
  }
  if (hidden > 0) parts.push_back("some <= 0, below a logarithmic axis");
  std::string text(CutColumns(parts[0], options.width));
  for (size_t i = 1; i < parts.size(); ++i) {
    if (Columns(text) + 2 + Columns(parts[i]) > options.width) break;
    absl::StrAppend(&text, "  ", parts[i]);
  }
  return options.color ? absl::StrCat(Canvas::Color(ink), text, kColorEnd) : text;
}

std::vector<Tick> XTicks(const Scale& x, const ChartOptions& options, int wanted) {
  switch (options.x) {
    case v1::X_AXIS_WALL_TIME:
      return ClockTicks(x.lo(), x.hi(), wanted, options.zone);
    case v1::X_AXIS_RELATIVE_TIME:
      return DurationTicks(x.lo(), x.hi(), wanted);
    case v1::X_AXIS_EPOCH:
      return NumberTicks(x.lo(), x.hi(), wanted);
    default:
      return StepTicks(x.lo(), x.hi(), wanted);
  }
}

struct Frame {
  const char* side;
  const char* side_tick;
  const char* corner;
  const char* floor;
  const char* floor_tick;
  const char* cross;
};
constexpr Frame kUnicodeFrame{"│", "┤", "└", "─", "┬", "×"};
constexpr Frame kAsciiFrame{"|", "+", "+", "-", "+", "x"};

// The axis, and under it the labels that have room, each around its tick.
std::vector<std::string> Floor(const std::vector<ChartSeries>& series, const Scale& x, const Canvas& canvas,
                               int columns, int left, const ChartOptions& options) {
  const Frame& frame = options.glyphs == Glyphs::kUnicode ? kUnicodeFrame : kAsciiFrame;
  std::vector<std::string> cells(static_cast<size_t>(columns), frame.floor);
  std::string labels(static_cast<size_t>(left + 1 + columns), ' ');
  size_t free = 0;
  for (const Tick& tick : XTicks(x, options, std::max(2, columns / 12))) {
    const int at = canvas.column_of(x.Dot(tick.value, canvas.width()));
    cells[static_cast<size_t>(at)] = frame.floor_tick;
    const int length = static_cast<int>(tick.label.size());
    const int begin = std::clamp(left + 1 + at - length / 2, 0, std::max(0, left + 1 + columns - length));
    if (static_cast<size_t>(begin) < free) continue;
    labels.replace(static_cast<size_t>(begin), tick.label.size(), tick.label);
    free = static_cast<size_t>(begin) + tick.label.size() + 1;
  }
  for (const ChartSeries& s : series) {
    for (const ChartPoint& p : s.points) {
      if (p.non_finite == 0) continue;
      const int at = canvas.column_of(x.Dot(p.first_x / 2 + p.last_x / 2, canvas.width()));
      cells[static_cast<size_t>(at)] = frame.cross;
    }
  }
  std::string axis = std::string(static_cast<size_t>(left), ' ') + frame.corner;
  for (const std::string& cell : cells) axis += cell;
  labels.erase(labels.find_last_not_of(' ') + 1);
  return {axis, labels};
}

}  // namespace

int ChartBuckets(int width) { return 2 * std::max(1, width); }

std::vector<double> Smooth(const std::vector<double>& values, double weight) {
  std::vector<double> smoothed = values;
  if (values.empty() || std::all_of(values.begin(), values.end(), [&](double v) { return v == values[0]; }))
    return smoothed;
  double average = 0;
  int counted = 0;
  for (double& value : smoothed) {
    if (!std::isfinite(value)) continue;
    average = average * weight + (1 - weight) * value;
    value = average / (1 - std::pow(weight, ++counted));
  }
  return smoothed;
}

std::vector<std::string> Chart(const std::vector<ChartSeries>& series, const ChartOptions& given) {
  ChartOptions options = given;
  options.width = std::max(20, options.width);
  options.height = std::max(3, options.height);
  const bool marked = series.size() > 1 && !options.color;
  std::vector<std::string> lines;
  for (size_t i = 0; i < series.size(); ++i) {
    lines.push_back(Heading(series[i], static_cast<int>(i % (kDimInk - 1)) + 1, marked, options));
  }
  const Range range_x = RangeOfX(series);
  if (range_x.empty()) return lines;
  const Range range_y = RangeOfY(series, options.log_y);
  const Scale y(range_y.empty() ? 1 : range_y.lo, range_y.empty() ? 1 : range_y.hi, options.log_y);
  const Scale x(range_x.lo, range_x.hi, false);

  std::vector<Tick> ticks;
  if (!range_y.empty()) {
    const int wanted = std::max(2, options.height / 3);
    ticks = options.log_y ? LogTicks(y.lo(), y.hi(), wanted) : NumberTicks(y.lo(), y.hi(), wanted);
  }
  size_t left = 0;
  for (const Tick& tick : ticks) left = std::max(left, tick.label.size());
  const int columns = std::max(1, options.width - static_cast<int>(left) - 1);
  const DotStyle style = marked                               ? DotStyle::kMarks
                         : options.glyphs == Glyphs::kUnicode ? DotStyle::kBraille
                                                              : DotStyle::kAscii;
  Canvas canvas(columns, options.height, style);
  for (size_t i = series.size(); i-- > 0;) {  // the first one on top
    Curve curve{&series[i], {}};
    if (options.smooth > 0) {
      std::vector<double> means;
      for (const ChartPoint& p : series[i].points) means.push_back(p.mean);
      curve.smoothed = Smooth(means, options.smooth);
    }
    Draw(curve, x, y, static_cast<int>(i % (kDimInk - 1)) + 1, options.color, canvas);
  }

  const Frame& frame = options.glyphs == Glyphs::kUnicode ? kUnicodeFrame : kAsciiFrame;
  std::vector<std::string> labels(static_cast<size_t>(options.height));
  for (const Tick& tick : ticks) {
    const int row = canvas.row_of(canvas.height() - 1 - y.Dot(tick.value, canvas.height()));
    labels[static_cast<size_t>(row)] = tick.label;
  }
  for (int row = 0; row < options.height; ++row) {
    const std::string& label = labels[static_cast<size_t>(row)];
    std::string line = absl::StrCat(std::string(left - label.size(), ' '), label,
                                    label.empty() ? frame.side : frame.side_tick, canvas.Row(row, options.color));
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(line);
  }
  for (std::string& line : Floor(series, x, canvas, columns, static_cast<int>(left), options)) {
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace ddp
