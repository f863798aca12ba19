// ddpctl list, ddpctl get.
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "client/text_table.h"
#include "client/verbs/verbs.h"
#include "common/text.h"

namespace ddp {

namespace {

struct ListFlags {
  std::vector<std::string> states;
  int limit = 0;
};

std::vector<std::string> Row(const v1::Job& job, bool wide) {
  const v1::Progress& p = job.progress();
  std::vector<std::string> row{
      job.id(),
      job.spec().name(),
      StateName(job.state()),
      job.spec().has_imported() ? "imported" : ModeText(job.spec().training().mode()),
      job.spec().has_imported() ? "-" : job.spec().training().model().name(),
      p.total_steps() > 0 ? absl::StrCat(p.step(), "/", p.total_steps()) : "-",
      LossText(job),
      AgeText(absl::Now() - absl::FromUnixSeconds(job.create_time().seconds())),
  };
  if (wide) {
    row.push_back(absl::StrCat(job.spec().resources().nproc()));
    row.push_back(absl::StrCat(job.restarts()));
    row.push_back(job.checkpoint_step() >= 0 ? absl::StrCat(job.checkpoint_step()) : "-");
    row.push_back(job.spec().has_imported() ? job.spec().imported().source() : job.spec().training().data().source());
    row.push_back(job.state_reason());
  }
  return row;
}

// "queued|starting|..."
std::string StateWords() {
  std::vector<std::string> words;
  const google::protobuf::EnumDescriptor& states = *v1::JobState_descriptor();
  for (int i = 0; i < states.value_count(); ++i) {
    const auto state = static_cast<v1::JobState>(states.value(i)->number());
    if (state != v1::JOB_STATE_UNSPECIFIED) words.push_back(absl::AsciiStrToLower(StateName(state)));
  }
  return absl::StrJoin(words, "|");
}

void RunList(const ListFlags& flags, const Globals& globals) {
  v1::ListJobsRequest request;
  request.set_page_size(flags.limit > 0 ? std::min(flags.limit, 1000) : 1000);
  for (const std::string& name : flags.states) {
    v1::JobState state = v1::JOB_STATE_UNSPECIFIED;
    if (!v1::JobState_Parse("JOB_STATE_" + absl::AsciiStrToUpper(name), &state)) {
      throw ExitError(kUsage, absl::StrCat("--state: must be one of ", absl::StrReplaceAll(StateWords(), {{"|", ", "}}),
                                           "; got \"", EscapeControls(name), "\""));
    }
    request.add_states(state);
  }
  Connection connection = Connection::Open(globals.connection);
  v1::ListJobsResponse all;
  do {
    const v1::ListJobsResponse page = Call(connection, connection.jobs(), &v1::JobService::Stub::List, request);
    for (const v1::Job& job : page.jobs()) {
      if (flags.limit == 0 || all.jobs_size() < flags.limit) *all.add_jobs() = job;
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty() && (flags.limit == 0 || all.jobs_size() < flags.limit));
  if (!globals.is_text()) {
    Print(ToText(all, globals.format));
    return;
  }
  const bool wide = globals.format == OutputFormat::kWide;
  std::vector<std::vector<std::string>> rows{{"ID", "NAME", "STATE", "MODE", "MODEL", "STEP", "LOSS", "AGE"}};
  if (wide) rows[0].insert(rows[0].end(), {"RANKS", "RESTARTS", "SAVED", "DATA", "REASON"});
  for (const v1::Job& job : all.jobs()) rows.push_back(Row(job, wide));
  Print(TextTable(rows));
}

std::string DescribeFailure(const v1::Failure& failure) {
  std::string text = absl::StrCat("  ", EscapeControls(failure.message()), "\n");
  std::string where;
  if (failure.rank() >= 0) absl::StrAppend(&where, "rank ", failure.rank(), ", ");
  if (failure.signal() != 0) {
    absl::StrAppend(&where, "signal ", failure.signal(), ", ");
  } else if (failure.exit_code() >= 0) {
    absl::StrAppend(&where, "exit code ", failure.exit_code(), ", ");
  }
  absl::StrAppend(&text, "  (", where, "at step ", failure.step(),
                  failure.retryable() ? "" : ", a retry cannot heal it", ")\n");
  return text;
}

std::string Describe(const v1::Job& job) {
  std::vector<std::vector<std::string>> rows{
      {"id", job.id()},
      {"name", job.spec().name()},
      {"state", absl::StrCat(StateName(job.state()), job.state_reason().empty() ? "" : ": ", job.state_reason())},
      {"created", TimeText(job.create_time())},
  };
  if (job.has_end_time()) rows.push_back({"ended", TimeText(job.end_time())});
  if (!job.parent_id().empty()) rows.push_back({"from", job.parent_id()});
  const v1::Progress& p = job.progress();
  if (p.total_steps() > 0) {
    rows.push_back({"progress", absl::StrFormat("step %d of %d, epoch %d of %d", p.step(), p.total_steps(),
                                                p.epoch() + 1, p.epochs())});
    rows.push_back({"loss", absl::StrFormat("%.6g", p.loss())});
    if (p.has_accuracy()) rows.push_back({"accuracy", absl::StrFormat("%.4f", p.accuracy())});
    if (p.has_valid_loss()) rows.push_back({"valid loss", absl::StrFormat("%.6g", p.valid_loss())});
    if (p.has_valid_accuracy()) rows.push_back({"valid accuracy", absl::StrFormat("%.4f", p.valid_accuracy())});
  }
  rows.push_back(
      {"checkpoint", job.checkpoint_step() >= 0 ? absl::StrCat("step ", job.checkpoint_step()) : "none yet"});
  rows.push_back({"restarts", absl::StrCat(job.restarts())});
  std::string text = TextTable(rows);
  if (job.attempts_size() > 0) {
    std::vector<std::vector<std::string>> attempts{
        {"ATTEMPT", "OUTCOME", "STARTED", "FROM STEP", "LAST STEP", "RANKS", "WORKERS"}};
    for (const v1::Attempt& attempt : job.attempts()) {
      const std::string outcome = v1::AttemptOutcome_Name(attempt.outcome()).substr(sizeof("ATTEMPT_OUTCOME_") - 1);
      attempts.push_back({absl::StrCat(attempt.number()), attempt.outcome() == 0 ? "alive" : outcome,
                          TimeText(attempt.start_time()), absl::StrCat(attempt.start_step()),
                          absl::StrCat(attempt.last_step()), attempt.nproc() > 0 ? absl::StrCat(attempt.nproc()) : "?",
                          absl::StrJoin(attempt.worker_pids(), " ")});
    }
    text += "\n" + TextTable(attempts);
  }
  if (job.has_failure()) {
    absl::StrAppend(&text, "\nlast failure:\n", DescribeFailure(job.failure()));
    if (!job.failure().log_tail().empty()) absl::StrAppend(&text, "  its log ends with:\n");
    for (absl::string_view rest = job.failure().log_tail(); !rest.empty();) {
      const size_t end = rest.find('\n');
      absl::StrAppend(&text, "    ", EscapeControls(std::string(rest.substr(0, end))), "\n");
      rest.remove_prefix(end == absl::string_view::npos ? rest.size() : end + 1);
    }
  }
  absl::StrAppend(&text, "\nspec:\n");
  const std::string spec = ToYaml(job.spec());
  for (size_t at = 0; at < spec.size();) {
    const size_t end = spec.find('\n', at);
    absl::StrAppend(&text, "  ", spec.substr(at, end - at), "\n");
    at = end == std::string::npos ? spec.size() : end + 1;
  }
  return text;
}

void RunGet(const std::string& id, const Globals& globals) {
  Connection connection = Connection::Open(globals.connection);
  v1::GetJobRequest request;
  request.set_id(id);
  const v1::Job job = Call(connection, connection.jobs(), &v1::JobService::Stub::Get, request);
  Print(globals.is_text() ? Describe(job) : ToText(job, globals.format));
}

}  // namespace

void AddShow(CLI::App& app, Globals& globals) {
  CLI::App& list = *app.add_subcommand("list", "Jobs, newest first");
  auto flags = std::make_shared<ListFlags>();
  CLI::Option& state = *list.add_option("--state", flags->states, "Only jobs in this state; repeatable");
  globals.offers[&state] = StateWords();
  list.add_option("--limit", flags->limit, "At most this many")->check(CLI::PositiveNumber);
  list.callback([flags, &globals] { RunList(*flags, globals); });

  CLI::App& get = *app.add_subcommand("get", "Everything about one job");
  auto id = std::make_shared<std::string>();
  get.add_option("JOB", *id, "Id, or a unique beginning of it")->required();
  get.callback([id, &globals] { RunGet(*id, globals); });
}

}  // namespace ddp
