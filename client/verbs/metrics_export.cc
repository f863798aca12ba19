// ddpctl metrics export.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/interrupt.h"
#include "client/verbs/choice.h"
#include "client/verbs/daemon_link.h"
#include "client/verbs/metrics_verbs.h"
#include "client/verbs/point_sink.h"
#include "common/text.h"

namespace ddp {

namespace {

constexpr absl::Duration kExtrasEvery = absl::Seconds(5);
constexpr absl::Duration kLargeAnswer = absl::Minutes(5);
constexpr int kMostSteps = 10000;

struct ExportFlags {
  std::string job;
  std::string format;
  SinkOptions sink;
  std::vector<std::string> series;
  int attempt = 0;
};

// A daemon of before has no texts.
template <typename Stub, typename Request, typename Response>
Response CallIfThere(const Connection& connection, Stub& stub,
                     grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                     const Request& request) {
  Response response;
  const auto context = connection.Context(kLargeAnswer);
  const grpc::Status status = (stub.*method)(context.get(), request, &response);
  if (status.error_code() != grpc::StatusCode::UNIMPLEMENTED) Check(status);
  return response;
}

class Exporter {
 public:
  Exporter(const ExportFlags& flags, const Globals& globals)
      : flags_(flags), globals_(globals), wanted_(flags.series.begin(), flags.series.end()) {}

  void Run() {
    Connection connection = Connection::Open(globals_.connection);
    CheckSeries(connection);
    sink_ = MakeSink(flags_.sink);
    if (flags_.sink.follow) {
      Follow(connection);
    } else {
      Scalars(connection);
      Extras(connection);
    }
    sink_->Commit();
    Say(absl::StrCat(points_, " points, ", histograms_, " histograms, ", texts_, " texts\n"));
    if (!sink_->path().empty()) Print(sink_->path() + "\n");
  }

 private:
  bool Wanted(const std::string& series) const { return wanted_.empty() || wanted_.count(series) > 0; }

  // Also finds out whether there is such a job, before a file is made.
  void CheckSeries(Connection& connection) {
    v1::ListSeriesRequest request;
    request.set_job_id(flags_.job);
    const v1::ListSeriesResponse response =
        Call(connection, connection.metrics(), &v1::MetricService::Stub::ListSeries, request);
    for (const v1::SeriesSummary& s : response.series()) known_.insert(s.series());
    v1::QueryHistogramsRequest newest;
    newest.set_job_id(flags_.job);
    newest.set_max_steps(1);
    const v1::QueryHistogramsResponse histograms =
        Call(connection, connection.metrics(), &v1::MetricService::Stub::Histograms, newest);
    for (const v1::Histogram& h : histograms.histograms()) {
      histogram_series_.insert(h.series());
    }
    for (const std::string& name : flags_.series) {
      // While a job runs, a series may come later.
      if (!flags_.sink.follow && known_.count(name) == 0 && histogram_series_.count(name) == 0) {
        throw ExitError(kNotFound, absl::StrCat("--series: there is no series ", EscapeControls(name)));
      }
    }
  }

  // One series at a time: the answer to a question for all may be larger than memory likes.
  void Scalars(Connection& connection) {
    for (const std::string& series : known_) {
      if (!Wanted(series)) continue;
      v1::QueryMetricsRequest request;
      request.set_job_id(flags_.job);
      request.add_series(series);
      request.set_attempt(flags_.attempt);
      v1::QueryMetricsResponse response;
      const auto context = connection.Context(kLargeAnswer);
      Check(connection.metrics().Query(context.get(), request, &response));
      for (const v1::MetricColumn& column : response.columns()) Add(column, flags_.attempt);
    }
  }

  void Add(const v1::MetricColumn& column, int attempt) {
    sink_->Add(column, attempt);
    points_ += column.step_size();
  }

  // Histograms and texts that have not been written yet. They are known in the merged view only.
  void Extras(Connection& connection) {
    if (flags_.attempt > 0 || flags_.sink.format == ExportFormat::kCsv) return;
    v1::QueryHistogramsRequest newest;
    newest.set_job_id(flags_.job);
    newest.set_max_steps(1);
    const v1::QueryHistogramsResponse found =
        Call(connection, connection.metrics(), &v1::MetricService::Stub::Histograms, newest);
    for (const v1::Histogram& h : found.histograms()) {
      const auto last = written_.find(h.series());
      if (!Wanted(h.series()) || (last != written_.end() && last->second >= h.step())) continue;
      v1::QueryHistogramsRequest request;
      request.set_job_id(flags_.job);
      request.add_series(h.series());
      request.set_from_step(last == written_.end() ? 0 : last->second + 1);
      request.set_max_steps(kMostSteps);
      const v1::QueryHistogramsResponse all =
          CallIfThere(connection, connection.metrics(), &v1::MetricService::Stub::Histograms, request);
      for (const v1::Histogram& one : all.histograms()) {
        sink_->Add(one);
        ++histograms_;
        written_[one.series()] = one.step();
      }
    }
    v1::QueryTextsRequest request;
    request.set_job_id(flags_.job);
    const v1::QueryTextsResponse texts =
        CallIfThere(connection, connection.metrics(), &v1::MetricService::Stub::Texts, request);
    std::map<std::string, int64_t> newest_text;
    for (const v1::Text& text : texts.texts()) {
      const auto last = written_.find(text.series());
      if (!Wanted(text.series()) || (last != written_.end() && last->second >= text.step())) continue;
      sink_->Add(text);
      ++texts_;
      newest_text[text.series()] = text.step();
    }
    for (const auto& [series, step] : newest_text) written_[series] = step;
    sink_->Flush();
    extras_at_ = absl::Now();
  }

  void Take(const v1::StreamMetricsResponse& batch) {
    after_ = batch.seq();
    if (flags_.attempt > 0 && batch.attempt() != flags_.attempt) return;
    if (attempt_ != 0 && batch.attempt() != attempt_ && batch.columns_size() > 0) {
      const v1::MetricColumn& first = batch.columns(0);
      sink_->Restart(batch.attempt_start_step() + 1, first.time_size() > 0 ? first.time(0) : 0);
      for (auto& [series, step] : written_) step = std::min(step, batch.attempt_start_step());
    }
    attempt_ = batch.attempt();
    for (const v1::MetricColumn& column : batch.columns()) {
      if (Wanted(column.series())) Add(column, batch.attempt());
    }
    sink_->Flush();
  }

  // True: all has been sent.
  bool FollowOnce(DaemonLink& link, InterruptGuard& interrupt, grpc::Status& status) {
    Connection& connection = link.connection();
    v1::StreamMetricsRequest request;
    request.set_job_id(flags_.job);
    request.set_after_seq(after_);
    const auto context = connection.Context(absl::InfiniteDuration());
    const RunningCall scope(interrupt.calls(), context.get());
    const auto stream = connection.metrics().Stream(context.get(), request);
    for (v1::StreamMetricsResponse batch; stream->Read(&batch);) {
      link.Works();
      if (batch.lagged_from() > 0) {
        // Too slow for live ones; what was left out is history now.
        after_ = batch.lagged_from() - 1;
        context->TryCancel();
        while (stream->Read(&batch)) {
        }
        stream->Finish();
        status = grpc::Status::OK;
        return false;
      }
      Take(batch);
      if (absl::Now() - extras_at_ > kExtrasEvery) Extras(connection);
    }
    status = stream->Finish();
    return status.ok();
  }

  void Follow(Connection& first) {
    InterruptGuard interrupt;
    DaemonLink link(globals_.connection, first);
    for (;;) {
      grpc::Status status;
      const bool complete = FollowOnce(link, interrupt, status);
      if (interrupt.interrupted()) {
        sink_->Flush();
        throw ExitError(kDetached, absl::StrCat("left; what came so far is in ", sink_->path()));
      }
      if (complete) {
        Extras(link.connection());
        return;
      }
      if (!status.ok()) link.Mend(status, [](const std::string& line) { Say(line + "\n"); });
    }
  }

  const ExportFlags& flags_;
  const Globals& globals_;
  const std::set<std::string> wanted_;  // empty: all
  std::set<std::string> known_;
  std::set<std::string> histogram_series_;
  std::unique_ptr<PointSink> sink_;
  std::map<std::string, int64_t> written_;  // the newest step of each histogram and text
  uint64_t after_ = 0;
  int attempt_ = 0;
  absl::Time extras_at_ = absl::InfinitePast();
  int64_t points_ = 0, histograms_ = 0, texts_ = 0;
};

void RunExport(ExportFlags& flags, const Globals& globals) {
  if (flags.format == "parquet") {
    throw ExitError(kUsage,
                    "--format parquet is not there: Debian 12 has no library that writes it; use --format csv, "
                    "which pandas, polars and DuckDB read with every digit");
  }
  flags.sink.format = flags.format == "csv"     ? ExportFormat::kCsv
                      : flags.format == "jsonl" ? ExportFormat::kJsonLines
                                                : ExportFormat::kTensorBoard;
  const bool events = flags.sink.format == ExportFormat::kTensorBoard;
  if (events && flags.sink.path == "-")
    throw ExitError(kUsage, "-o -: event files need a folder; csv and jsonl do not");
  if (!events && flags.sink.exact) throw ExitError(kUsage, "--exact: csv and jsonl always have every digit");
  Exporter(flags, globals).Run();
}

}  // namespace

void AddMetricsExport(CLI::App& metrics, Globals& globals) {
  CLI::App& verb = *metrics.add_subcommand("export", "Write a job's points to a file that other programs read");
  verb.fallthrough();
  auto flags = std::make_shared<ExportFlags>();
  verb.add_option("JOB", flags->job, "Id, or a unique beginning of it")->required();
  // Parquet is known, so that its refusal can say why; it is not offered.
  CLI::Option& format = AddChoice(verb, "--format", flags->format, Words({"tensorboard", "csv", "jsonl", "parquet"}),
                                  "tensorboard (event file), csv or jsonl", globals);
  format.required();
  globals.offers[&format] = "tensorboard|csv|jsonl";
  CLI::Option& path = *verb.add_option("-o,--path", flags->sink.path,
                                       "The run's folder for tensorboard; else a file, or - for the output");
  path.required();
  globals.offers[&path] = "FILE";
  verb.add_option("--series", flags->series, "Only these, separated by commas")->delimiter(',');
  verb.add_option("--attempt", flags->attempt, "Only this attempt, without histograms; default: the merged view")
      ->check(CLI::PositiveNumber);
  verb.add_flag("--follow", flags->sink.follow, "Then new points as they come, until the job ends");
  verb.add_flag("--force", flags->sink.force, "Replace a file that is there");
  verb.add_flag("--exact", flags->sink.exact,
                "tensorboard: all 64 bits, as tensors (EventAccumulator.Tensors); without it as floats (.Scalars)");
  verb.callback([flags, &globals] { RunExport(*flags, globals); });
}

}  // namespace ddp
