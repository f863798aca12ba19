// ddpctl metrics JOB --plot.
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/plot/chart.h"
#include "client/terminal.h"
#include "client/verbs/choice.h"
#include "client/verbs/metrics_verbs.h"

namespace ddp {

namespace {

constexpr int kDefaultWidth = 80;
constexpr size_t kDefaultCharts = 4;

std::vector<std::string> DefaultSeries(const std::string& job, Connection& connection) {
  v1::ListSeriesRequest request;
  request.set_job_id(job);
  const v1::ListSeriesResponse response =
      Call(connection, connection.metrics(), &v1::MetricService::Stub::ListSeries, request);
  std::vector<std::string> all, known;
  for (const v1::SeriesSummary& s : response.series()) {
    if (s.type() == v1::POINT_TYPE_UNSPECIFIED || s.type() == v1::POINT_TYPE_SCALAR) all.push_back(s.series());
  }
  for (const char* name : {"loss", "valid_loss", "acc", "valid_acc"}) {
    if (std::find(all.begin(), all.end(), name) != all.end()) known.emplace_back(name);
  }
  if (known.empty()) known.assign(all.begin(), all.begin() + static_cast<long>(std::min(all.size(), kDefaultCharts)));
  return known;
}

ChartSeries ToChart(const v1::BucketColumn& column, v1::XAxis x) {
  ChartSeries series{column.series(), {}};
  for (const v1::Bucket& b : column.buckets()) {
    const bool steps = x == v1::X_AXIS_STEP;
    series.points.push_back({.first_x = steps ? static_cast<double>(b.first_step()) : b.first_x(),
                             .last_x = steps ? static_cast<double>(b.last_step()) : b.last_x(),
                             .min = b.min(),
                             .max = b.max(),
                             .first = b.first(),
                             .last = b.last(),
                             .mean = b.mean(),
                             .non_finite = b.non_finite()});
  }
  return series;
}

}  // namespace

void AddPlotFlags(CLI::App& verb, PlotFlags& flags, Globals& globals) {
  verb.add_flag("--plot", flags.on, "Draw a chart of each series")->group("Charts");
  verb.add_flag("--overlay", flags.overlay, "All series in one chart")->group("Charts");
  verb.add_option("--width", flags.width, "Columns; default: of the terminal, or 80")
      ->check(CLI::Range(20, 1000))
      ->group("Charts");
  verb.add_option("--height", flags.height, "Rows of each drawing (12)")->check(CLI::Range(3, 200))->group("Charts");
  verb.add_flag("--log-y", flags.log_y, "A logarithmic axis")->group("Charts");
  verb.add_option("--smooth", flags.smooth, "Moving average as in TensorBoard, from 0 to less than 1")
      ->check(CLI::Range(0.0, 0.9999))
      ->group("Charts");
  AddChoice(verb, "--x", flags.x,
            {{"step", v1::X_AXIS_STEP},
             {"epoch", v1::X_AXIS_EPOCH},
             {"wall", v1::X_AXIS_WALL_TIME},
             {"relative", v1::X_AXIS_RELATIVE_TIME}},
            "step, epoch, wall or relative (seconds since the first point)", globals)
      .type_name("AXIS")
      ->group("Charts");
}

void PlotMetrics(const std::string& job, std::vector<std::string> series, int attempt, const PlotFlags& flags,
                 Connection& connection) {
  ChartOptions options;
  options.width = flags.width > 0 ? flags.width : TerminalColumns(STDOUT_FILENO).value_or(kDefaultWidth);
  options.height = flags.height;
  options.x = flags.x;
  options.log_y = flags.log_y;
  options.smooth = flags.smooth;
  options.glyphs = LocaleGlyphs();
  options.color = ColorsOn(STDOUT_FILENO);
  options.zone = absl::LocalTimeZone();

  if (series.empty()) series = DefaultSeries(job, connection);
  if (series.empty()) {
    Say("there are no points yet\n");
    return;
  }
  v1::QueryMetricsRequest request;
  request.set_job_id(job);
  *request.mutable_series() = {series.begin(), series.end()};
  request.set_attempt(attempt);
  request.set_max_buckets(ChartBuckets(options.width));
  request.set_x_axis(flags.x);
  const v1::QueryMetricsResponse response =
      Call(connection, connection.metrics(), &v1::MetricService::Stub::Query, request);

  std::vector<ChartSeries> found;
  for (const std::string& name : series) {  // in the order that was asked for
    const auto& columns = response.buckets();
    const auto column =
        std::find_if(columns.begin(), columns.end(), [&](const v1::BucketColumn& c) { return c.series() == name; });
    if (column == columns.end() || column->buckets().empty()) {
      Say(absl::StrCat("--series ", name, ": there are no points\n"));
    } else {
      found.push_back(ToChart(*column, flags.x));
    }
  }
  if (found.empty())
    throw ExitError(kNotFound, "none of the series has points; ddpctl metrics JOB lists those that do");
  if (flags.overlay) {
    PrintDrawing(absl::StrJoin(Chart(found, options), "\n") + "\n");
    return;
  }
  for (const ChartSeries& one : found) PrintDrawing(absl::StrJoin(Chart({one}, options), "\n") + "\n");
}

}  // namespace ddp
