// ddpctl submit.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/spec_builder.h"
#include "client/verbs/verbs.h"
#include "common/ids.h"
#include "common/text.h"

namespace ddp {

namespace {

struct SubmitFlags {
  SpecInput input;
  std::map<std::string, std::vector<std::string>> values;  // what CLI11 fills
  std::string request_id;
  bool dry_run = false;
  bool watch = false;
};

// Safe to repeat: one request id makes at most one job.
v1::SubmitJobResponse Send(Connection& connection, const v1::SubmitJobRequest& request) {
  v1::SubmitJobResponse response;
  grpc::Status status;
  for (int attempt = 0; attempt < 5; ++attempt) {
    if (attempt > 0) absl::SleepFor(absl::Milliseconds(200) * attempt);
    const auto context = connection.Context();
    status = connection.jobs().Submit(context.get(), request, &response);
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE) break;
  }
  Check(status);
  return response;
}

void RunSubmit(SubmitFlags& flags, Globals& globals) {
  for (auto& [flag, values] : flags.values) {
    if (!values.empty()) flags.input.flag_values[flag] = values;
  }
  v1::SubmitJobRequest request;
  *request.mutable_spec() = BuildSpec(flags.input);
  request.set_validate_only(flags.dry_run);
  request.set_request_id(flags.request_id.empty() ? absl::StrFormat("%016x%016x", RandomBits(), RandomBits())
                                                  : flags.request_id);
  Connection connection = Connection::Open(globals.connection);
  const v1::SubmitJobResponse response = Send(connection, request);
  for (const std::string& notice : response.notices()) Say(absl::StrCat("note: ", notice, "\n"));
  if (flags.dry_run) {
    Print(globals.format == OutputFormat::kJson ? ToJson(response.job().spec()) : ToYaml(response.job().spec()));
    return;
  }
  const std::string& id = response.job().id();
  Print(globals.is_text() ? id + "\n" : ToText(response, globals.format));
  if (flags.watch) {
    globals.exit_code = CodeOf(WatchToEnd(globals, connection, id, {}).state());
  } else {
    Say(absl::StrCat("watch it: ddpctl watch ", id, "\n"));
  }
}

}  // namespace

void AddSubmit(CLI::App& app, Globals& globals) {
  CLI::App& verb = *app.add_subcommand("submit", "Queue a job; prints its id and returns");
  auto flags = std::make_shared<SubmitFlags>();
  globals
      .offers[verb.add_option("-f,--file", flags->input.file, "YAML file with the job; flags and --set win over it")] =
      "FILE";
  verb.add_option("--set", flags->input.sets, "PATH=VALUE of any field, as in training.lr=1e-3; repeatable")
      ->allow_extra_args(false);
  for (const SpecFlag& flag : SpecFlags()) {
    CLI::Option& option = *verb.add_option(flag.flag, flags->values[flag.flag], flag.help);
    option.allow_extra_args(false)
        ->multi_option_policy(flag.repeated ? CLI::MultiOptionPolicy::TakeAll : CLI::MultiOptionPolicy::TakeLast)
        ->type_name("")
        ->group("Job");
    if (const std::string words = WordsOf(flag); !words.empty()) globals.offers[&option] = words;
  }
  verb.add_option("--request-id", flags->request_id, "Makes a repeated submit safe: one id makes at most one job");
  verb.add_flag("--dry-run", flags->dry_run, "Check, print the complete job, and make none");
  verb.add_flag("--watch,--follow", flags->watch, "Then watch it to its end");
  verb.callback([flags, &globals] { RunSubmit(*flags, globals); });
}

}  // namespace ddp
