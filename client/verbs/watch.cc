// ddpctl watch, ddpctl wait.
#include <unistd.h>

#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/interrupt.h"
#include "client/progress.h"
#include "client/terminal.h"
#include "client/verbs/daemon_link.h"
#include "client/verbs/log_tail.h"
#include "client/verbs/verbs.h"

namespace ddp {

namespace {

// Tells what happens, once.
class Narrator {
 public:
  explicit Narrator(bool talk) : talk_(talk) {}

  void Take(const v1::Job& job) {
    if (talk_ && seen_ && job.progress().epoch() > last_.epoch()) {
      // The numbers of the epoch's last step, with those of the validation that followed it.
      if (job.progress().has_valid_loss()) last_.set_valid_loss(job.progress().valid_loss());
      if (job.progress().has_valid_accuracy()) last_.set_valid_accuracy(job.progress().valid_accuracy());
      Epoch(last_, job.progress().epoch() - 1);
    }
    last_ = job.progress();
    seen_ = true;
    if (job.progress().step() > 0) curve_.Add(job.progress().step(), job.progress().loss());
    if (talk_ && !IsEnded(job.state())) {
      terminal_.Live([job, curve = curve_, glyphs = LocaleGlyphs()](int width) {
        return ProgressLine(job, width, curve, glyphs);
      });
    }
  }
  // What happened before anybody watched.
  void TakeHistory(const v1::QueryMetricsResponse& history) {
    for (const v1::BucketColumn& column : history.buckets()) {
      for (const v1::Bucket& b : column.buckets()) {
        if (std::isfinite(b.max())) curve_.Add(b.first_step(), b.max());
        if (b.non_finite() > 0) curve_.Add(b.last_step(), std::numeric_limits<double>::quiet_NaN());
      }
    }
  }
  void Take(const v1::JobEvent& event) {
    if (talk_) terminal_.Print(EventLine(event));
  }
  void End(const v1::Job& job) {
    terminal_.ClearLive();
    if (!talk_) return;
    if (job.state() == v1::JOB_STATE_SUCCEEDED && !job.spec().has_imported())
      Epoch(job.progress(), job.progress().epoch());
    terminal_.Print(EndLine(job));
  }
  void Say(const std::string& text) {
    if (talk_) terminal_.Print(text);
  }
  void Clear() { terminal_.ClearLive(); }
  Terminal& terminal() { return terminal_; }

 private:
  void Epoch(const v1::Progress& progress, int finished) { terminal_.Print(EpochLine(progress, finished)); }

  const bool talk_;
  Terminal terminal_{STDERR_FILENO};
  bool seen_ = false;
  v1::Progress last_;
  Spark curve_;
};

// The losses so far, in about as many buckets as a curve has room for. Nothing, where they cannot be had: a curve that
// begins late is no reason not to watch.
v1::QueryMetricsResponse LossHistory(Connection& connection, const std::string& id) {
  v1::QueryMetricsRequest request;
  request.set_job_id(id);
  request.add_series("loss");
  request.set_max_buckets(100);
  v1::QueryMetricsResponse response;
  const auto context = connection.Context();
  if (!connection.metrics().Query(context.get(), request, &response).ok()) response.Clear();
  return response;
}

}  // namespace

v1::Job WatchToEnd(const Globals& globals, Connection& first, const std::string& id, const WatchOptions& options) {
  const absl::Time give_up =
      options.timeout == absl::InfiniteDuration() ? absl::InfiniteFuture() : absl::Now() + options.timeout;
  InterruptGuard interrupt;
  Narrator narrator(options.talk);
  if (options.talk) narrator.TakeHistory(LossHistory(first, id));
  std::optional<LogTail> logs;
  if (options.logs) logs.emplace(globals, id, interrupt, narrator.terminal());
  uint64_t event = 0;
  v1::Job job;
  DaemonLink link(globals.connection, first);
  for (;;) {
    Connection& connection = link.connection();
    v1::WatchJobRequest request;
    request.set_id(id);
    request.set_after_event(event);
    const auto context =
        connection.Context(give_up == absl::InfiniteFuture() ? absl::InfiniteDuration() : give_up - absl::Now());
    const RunningCall scope(interrupt.calls(), context.get());
    const auto stream = connection.jobs().Watch(context.get(), request);
    for (v1::WatchJobResponse update; stream->Read(&update);) {
      link.Works();
      if (update.has_event()) {
        event = update.event().seq();
        narrator.Take(update.event());
      } else {
        job = update.job();
        narrator.Take(job);
      }
    }
    const grpc::Status status = stream->Finish();
    if (interrupt.interrupted()) {
      narrator.Clear();
      throw ExitError(kDetached, absl::StrCat("detached; the job goes on. Watch it again: ddpctl watch ", id));
    }
    if (status.ok()) break;
    if (absl::Now() >= give_up) {
      narrator.Clear();
      throw ExitError(kNoDaemon, absl::StrCat("the time has passed; job ", id, " is ", StateName(job.state())));
    }
    link.Mend(status, [&narrator](const std::string& line) {
      narrator.Clear();  // it would tell of a speed that nobody knows
      narrator.Say(line);
    });
  }
  if (logs) logs->Finish();
  narrator.End(job);
  return job;
}

void AddWatch(CLI::App& app, Globals& globals) {
  CLI::App& watch =
      *app.add_subcommand("watch", "Progress and events of a job until it ends; Ctrl-C leaves the job alone");
  auto watched = std::make_shared<std::string>();
  auto logs = std::make_shared<bool>(false);
  watch.add_option("JOB", *watched, "Id, or a unique beginning of it")->required();
  watch.add_flag("--logs", *logs, "With the lines that rank 0 prints, above the progress");
  watch.callback([watched, logs, &globals] {
    Connection connection = Connection::Open(globals.connection);
    const v1::Job job = WatchToEnd(globals, connection, *watched, {.logs = *logs});
    if (!globals.is_text()) Print(ToText(job, globals.format));
    globals.exit_code = CodeOf(job.state());
  });

  CLI::App& wait = *app.add_subcommand("wait", "Block until a job ends; exit code 0 when it SUCCEEDED, 1 otherwise");
  auto waited = std::make_shared<std::string>();
  auto timeout = std::make_shared<double>(0);
  wait.add_option("JOB", *waited, "Id, or a unique beginning of it")->required();
  wait.add_option("--timeout", *timeout, "Seconds; exit code 3 when they have passed")->check(CLI::PositiveNumber);
  wait.callback([waited, timeout, &globals] {
    Connection connection = Connection::Open(globals.connection);
    WatchOptions options{.talk = false};
    if (*timeout > 0) options.timeout = absl::Seconds(*timeout);
    const v1::Job job = WatchToEnd(globals, connection, *waited, options);
    Print(globals.is_text() ? absl::StrCat(StateName(job.state()), "\n") : ToText(job, globals.format));
    globals.exit_code = CodeOf(job.state());
  });
}

}  // namespace ddp
