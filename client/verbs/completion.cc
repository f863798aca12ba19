// ddpctl completion, and what its scripts ask.
#include "client/completion/complete.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/completion/scripts.h"
#include "client/verbs/choice.h"
#include "client/verbs/verbs.h"
#include "common/text.h"

namespace ddp {

namespace {

// A shell waits for the answer with the cursor standing still.
constexpr absl::Duration kPatience = absl::Milliseconds(500);
constexpr int kMostJobs = 200;

// The jobs that a verb can do something with.
bool Fits(const std::string& verb, v1::JobState state) {
  if (verb == "cancel" || verb == "pause") return !IsEnded(state);
  if (verb == "resume") return IsEnded(state) && state != v1::JOB_STATE_SUCCEEDED;
  if (verb == "delete") return IsEnded(state);
  return true;
}

ConnectionOptions OptionsOf(const Completion& asked, ConnectionOptions options) {
  const auto take = [&asked](const std::string& name, std::string& value) {
    if (const auto given = asked.values.find(name); given != asked.values.end()) value = given->second;
  };
  take("home", options.home);
  take("address", options.address);
  take("tls-ca", options.tls_ca);
  take("token-file", options.token_file);
  if (!options.token_file.empty()) options.token.clear();
  return options;
}

// None, when the daemon does not answer at once.
std::vector<Candidate> Jobs(const Completion& asked, const ConnectionOptions& options) {
  const std::unique_ptr<Connection> connection = Connection::Find(options, kPatience);
  if (connection == nullptr) return {};
  v1::ListJobsRequest request;
  request.set_page_size(kMostJobs);
  v1::ListJobsResponse response;
  const auto context = connection->Context(kPatience);
  if (!connection->jobs().List(context.get(), request, &response).ok()) return {};
  std::vector<Candidate> jobs;
  for (const v1::Job& job : response.jobs()) {
    if (!absl::StartsWith(job.id(), asked.job_begin) || !Fits(asked.verb, job.state())) continue;
    jobs.push_back({absl::StrCat(asked.job_lead, job.id()),
                    absl::StrCat(StateName(job.state()), job.spec().name().empty() ? "" : " ", job.spec().name())});
  }
  return jobs;
}

}  // namespace

void AnswerShell(const CLI::App& app, const Globals& globals, const std::vector<std::string>& words) {
  Completion found = Complete(app, globals.offers, words);
  if (found.jobs) {
    for (Candidate& job : Jobs(found, OptionsOf(found, globals.connection))) found.candidates.push_back(std::move(job));
  }
  std::string text;
  for (const Candidate& candidate : found.candidates) {
    absl::StrAppend(&text, candidate.word, candidate.help.empty() ? "" : "\t", EscapeControls(candidate.help), "\n");
  }
  if (found.files) text += ":files\n";
  if (found.folders) text += ":folders\n";
  Print(text);
}

void AddCompletion(CLI::App& app, Globals& globals) {
  CLI::App& verb = *app.add_subcommand(
      "completion", "Print what makes a shell complete ddpctl, as in: source <(ddpctl completion bash)");
  auto shell = std::make_shared<std::string>();
  AddChoice(verb, "SHELL", *shell, Words({"bash", "zsh", "fish"}), "bash, zsh or fish", globals).required();
  verb.callback([shell] { Print(CompletionScript(*shell)); });
}

}  // namespace ddp
