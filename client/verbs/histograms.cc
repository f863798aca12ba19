// ddpctl histograms.
#include <fnmatch.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/histogram_text.h"
#include "client/verbs/verbs.h"

namespace ddp {

namespace {

struct HistogramFlags {
  std::string id;
  std::vector<std::string> patterns;
  int64_t step = 0;
  int max_steps = 1;
};

bool Wanted(const HistogramFlags& flags, const std::string& series) {
  return flags.patterns.empty() ||
         std::any_of(flags.patterns.begin(), flags.patterns.end(), [&series](const std::string& pattern) {
           return fnmatch(pattern.c_str(), series.c_str(), 0) == 0;
         });
}

void RunHistograms(const HistogramFlags& flags, const Globals& globals) {
  Connection connection = Connection::Open(globals.connection);
  v1::QueryHistogramsRequest request;
  request.set_job_id(flags.id);
  request.set_to_step(flags.step);
  // The newest of each series tells what there is; the patterns are matched here.
  request.set_max_steps(1);
  v1::QueryHistogramsResponse newest =
      Call(connection, connection.metrics(), &v1::MetricService::Stub::Histograms, request);
  v1::QueryHistogramsResponse found;
  for (v1::Histogram& histogram : *newest.mutable_histograms()) {
    if (Wanted(flags, histogram.series())) found.add_histograms()->Swap(&histogram);
  }
  if (found.histograms().empty() && newest.histograms().empty()) {
    Say(absl::StrCat("there are no histograms",
                     flags.step > 0 ? absl::StrCat(" up to step ", flags.step) : std::string(),
                     "; a job has them with --watch-every N\n"));
  } else if (found.histograms().empty()) {
    throw ExitError(kNotFound, "--series: no series matches; the first of them is " + newest.histograms(0).series());
  }
  if (flags.max_steps > 1 && !found.histograms().empty()) {
    request.set_max_steps(flags.max_steps);
    for (const v1::Histogram& histogram : found.histograms()) request.add_series(histogram.series());
    found = Call(connection, connection.metrics(), &v1::MetricService::Stub::Histograms, request);
  }
  if (!globals.is_text()) {
    Print(ToText(found, globals.format));
    return;
  }
  for (const v1::Histogram& histogram : found.histograms()) Print(HistogramText(histogram));
}

}  // namespace

void AddHistograms(CLI::App& app, Globals& globals) {
  CLI::App& verb =
      *app.add_subcommand("histograms", "How gradients and parameters are spread, of a job with --watch-every");
  auto flags = std::make_shared<HistogramFlags>();
  verb.add_option("JOB", flags->id, "Id, or a unique beginning of it")->required();
  verb.add_option("--series", flags->patterns, "Only those that match, as in 'grad/*'; repeatable")
      ->allow_extra_args(false);
  verb.add_option("--step", flags->step, "The newest up to this step; default: the newest of all")
      ->check(CLI::PositiveNumber);
  verb.add_option("--max-steps", flags->max_steps, "Evenly chosen steps of each tensor, the newest among them (1)")
      ->check(CLI::Range(1, 10000));
  verb.callback([flags, &globals] { RunHistograms(*flags, globals); });
}

}  // namespace ddp
