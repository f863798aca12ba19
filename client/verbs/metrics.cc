// ddpctl metrics.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/exchange/rows.h"
#include "client/text_table.h"
#include "client/verbs/daemon_link.h"
#include "client/verbs/metrics_verbs.h"

namespace ddp {

namespace {

struct MetricFlags {
  std::string id;
  std::vector<std::string> series;
  int attempt = 0;
  int max_buckets = 0;
  bool csv = false;
  bool follow = false;
  PlotFlags plot;
};

bool Wanted(const MetricFlags& flags, const std::string& series) {
  return flags.series.empty() || std::find(flags.series.begin(), flags.series.end(), series) != flags.series.end();
}

void Follow(const MetricFlags& flags, const Globals& globals, Connection& first) {
  v1::StreamMetricsRequest request;
  request.set_job_id(flags.id);
  if (globals.is_text()) Print(kCsvHeader);
  DaemonLink link(globals.connection, first);
  for (;;) {
    const auto context = link.connection().Context(absl::InfiniteDuration());
    const auto stream = link.connection().metrics().Stream(context.get(), request);
    for (v1::StreamMetricsResponse batch; stream->Read(&batch);) {
      link.Works();
      request.set_after_seq(batch.seq());
      if (!globals.is_text()) {
        Print(ToText(batch, globals.format));
        continue;
      }
      if (batch.lagged_from() > 0) {
        Say(absl::StrCat("batches ", batch.lagged_from(), " to ", batch.seq(), " were skipped: too slow\n"));
      }
      for (const v1::MetricColumn& column : batch.columns()) {
        if (Wanted(flags, column.series())) Print(CsvRows(column, batch.attempt()));
      }
    }
    const grpc::Status status = stream->Finish();
    if (status.ok()) return;
    link.Mend(status, [](const std::string& line) { Say(line + "\n"); });
  }
}

void Summaries(const MetricFlags& flags, const Globals& globals, Connection& connection) {
  v1::ListSeriesRequest request;
  request.set_job_id(flags.id);
  const v1::ListSeriesResponse response =
      Call(connection, connection.metrics(), &v1::MetricService::Stub::ListSeries, request);
  if (!globals.is_text()) {
    Print(ToText(response, globals.format));
    return;
  }
  std::vector<std::vector<std::string>> rows{{"SERIES", "POINTS", "LAST STEP", "LAST", "MIN", "MAX"}};
  for (const v1::SeriesSummary& s : response.series()) {
    const bool scalar = s.type() != v1::POINT_TYPE_HISTOGRAM && s.type() != v1::POINT_TYPE_TEXT;
    const auto number = [scalar](double value) { return scalar ? absl::StrFormat("%.6g", value) : std::string("-"); };
    rows.push_back({s.series(), absl::StrCat(s.count()), absl::StrCat(s.last_step()), number(s.last()), number(s.min()),
                    number(s.max())});
  }
  Print(TextTable(rows));
}

void Points(const MetricFlags& flags, const Globals& globals, Connection& connection) {
  v1::QueryMetricsRequest request;
  request.set_job_id(flags.id);
  *request.mutable_series() = {flags.series.begin(), flags.series.end()};
  request.set_attempt(flags.attempt);
  request.set_max_buckets(flags.max_buckets);
  const v1::QueryMetricsResponse response =
      Call(connection, connection.metrics(), &v1::MetricService::Stub::Query, request);
  if (!globals.is_text() && !flags.csv) {
    Print(ToText(response, globals.format));
    return;
  }
  if (flags.max_buckets > 0) {
    Print("series,first_step,last_step,min,max,first,last,mean,count,non_finite\n");
    for (const v1::BucketColumn& column : response.buckets()) {
      for (const v1::Bucket& b : column.buckets()) {
        Print(absl::StrFormat("%s,%d,%d,%.17g,%.17g,%.17g,%.17g,%.17g,%d,%d\n", CsvField(column.series()),
                              b.first_step(), b.last_step(), b.min(), b.max(), b.first(), b.last(), b.mean(), b.count(),
                              b.non_finite()));
      }
    }
    return;
  }
  Print(kCsvHeader);
  for (const v1::MetricColumn& column : response.columns()) Print(CsvRows(column, flags.attempt));
}

void RunMetrics(const MetricFlags& flags, const Globals& globals) {
  if (flags.plot.on && (flags.csv || flags.follow || flags.max_buckets > 0 || !globals.is_text())) {
    throw ExitError(kUsage, "--plot draws; it cannot be had with --csv, --follow, --max-buckets or -o json|yaml");
  }
  Connection connection = Connection::Open(globals.connection);
  if (flags.plot.on) {
    PlotMetrics(flags.id, flags.series, flags.attempt, flags.plot, connection);
  } else if (flags.follow) {
    Follow(flags, globals, connection);
  } else if (flags.series.empty() && flags.attempt == 0 && flags.max_buckets == 0 && !flags.csv) {
    Summaries(flags, globals, connection);
  } else {
    Points(flags, globals, connection);
  }
}

}  // namespace

void AddMetrics(CLI::App& app, Globals& globals) {
  CLI::App& verb = *app.add_subcommand(
      "metrics", "Metrics of a job: a summary, with --plot charts, or with --csv, --series or --follow its points");
  auto flags = std::make_shared<MetricFlags>();
  // Required, unless one of the verbs below follows.
  verb.add_option("JOB", flags->id, "Id, or a unique beginning of it");
  verb.add_option("--series", flags->series, "Only these, separated by commas")->delimiter(',');
  verb.add_option("--attempt", flags->attempt, "Only this attempt; default: the merged view")
      ->check(CLI::PositiveNumber);
  verb.add_option("--max-buckets", flags->max_buckets, "Summaries of the points in at most so many buckets")
      ->check(CLI::Range(1, 100000));
  verb.add_flag("--csv", flags->csv, "Every point, as attempt,series,step,time,value");
  verb.add_flag("--follow", flags->follow, "History, then new points until the job ends");
  AddPlotFlags(verb, flags->plot, globals);
  AddMetricsExport(verb, globals);
  AddMetricsImport(verb, globals);
  verb.callback([flags, &verb, &globals] {
    if (!verb.get_subcommands().empty()) return;
    if (flags->id.empty()) throw ExitError(kUsage, "metrics needs a JOB, or export or import (ddpctl metrics --help)");
    RunMetrics(*flags, globals);
  });
}

}  // namespace ddp
