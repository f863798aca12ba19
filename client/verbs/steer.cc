// ddpctl cancel, pause, resume, delete.
#include <optional>

#include "absl/strings/str_cat.h"
#include "client/verbs/verbs.h"
#include "common/text.h"

namespace ddp {

namespace {

struct StopFlags {
  std::string id;
  bool force = false;
  bool no_wait = false;
};

struct ResumeFlags {
  std::string id;
  std::optional<int32_t> nproc;
};

void Report(const Globals& globals, const v1::Job& job) {
  if (!globals.is_text()) {
    Print(ToText(job, globals.format));
    return;
  }
  const bool waits = IsEnded(job.state());
  std::string text = absl::StrCat(job.id(), " ", StateName(job.state()));
  if (waits && job.state() != v1::JOB_STATE_FAILED) {
    absl::StrAppend(&text, job.checkpoint_step() >= 0 ? absl::StrCat(", saved at step ", job.checkpoint_step())
                                                      : std::string(", nothing was saved"));
  } else if (waits) {
    absl::StrAppend(&text, ": ", EscapeControls(job.state_reason()));
  }
  Print(text + "\n");
}

void FinishStop(const StopFlags& flags, const Globals& globals, Connection& connection, v1::Job job) {
  if (!flags.no_wait && !IsEnded(job.state())) {
    job = WatchToEnd(globals, connection, job.id(), {.talk = false});
  }
  Report(globals, job);
}

void RunCancel(const StopFlags& flags, const Globals& globals) {
  Connection connection = Connection::Open(globals.connection);
  v1::CancelJobRequest request;
  request.set_id(flags.id);
  request.set_force(flags.force);
  const v1::Job job = Call(connection, connection.jobs(), &v1::JobService::Stub::Cancel, request);
  FinishStop(flags, globals, connection, job);
}

void RunPause(const StopFlags& flags, const Globals& globals) {
  Connection connection = Connection::Open(globals.connection);
  v1::PauseJobRequest request;
  request.set_id(flags.id);
  const v1::Job job = Call(connection, connection.jobs(), &v1::JobService::Stub::Pause, request);
  FinishStop(flags, globals, connection, job);
}

void RunResume(const ResumeFlags& flags, const Globals& globals) {
  Connection connection = Connection::Open(globals.connection);
  v1::ResumeJobRequest request;
  request.set_id(flags.id);
  if (flags.nproc) request.set_nproc(*flags.nproc);
  const v1::Job job = Call(connection, connection.jobs(), &v1::JobService::Stub::Resume, request);
  if (!globals.is_text()) {
    Print(ToText(job, globals.format));
    return;
  }
  Print(absl::StrCat(job.id(), " ", StateName(job.state()),
                     job.checkpoint_step() >= 0 ? absl::StrCat(", goes on at step ", job.checkpoint_step())
                                                : std::string(", begins anew (nothing was saved)"),
                     "\n"));
}

void RunDelete(const std::string& id, const Globals& globals) {
  Connection connection = Connection::Open(globals.connection);
  v1::DeleteJobRequest request;
  request.set_id(id);
  const v1::DeleteJobResponse response = Call(connection, connection.jobs(), &v1::JobService::Stub::Delete, request);
  Print(globals.is_text() ? "deleted\n" : ToText(response, globals.format));
}

CLI::App& Verb(CLI::App& app, const std::string& name, const std::string& help, std::string& id) {
  CLI::App& verb = *app.add_subcommand(name, help);
  verb.add_option("JOB", id, "Id, or a unique beginning of it")->required();
  return verb;
}

}  // namespace

void AddSteer(CLI::App& app, Globals& globals) {
  auto cancel = std::make_shared<StopFlags>();
  CLI::App& cancel_verb = Verb(app, "cancel", "Stop a job at its next step, save, and give its slots back", cancel->id);
  cancel_verb.add_flag("--force", cancel->force, "Kill now, do not save");
  cancel_verb.add_flag("--no-wait", cancel->no_wait, "Do not wait for its end");
  cancel_verb.callback([cancel, &globals] { RunCancel(*cancel, globals); });

  auto pause = std::make_shared<StopFlags>();
  CLI::App& pause_verb = Verb(app, "pause", "Like cancel, but the job ends as PAUSED", pause->id);
  pause_verb.add_flag("--no-wait", pause->no_wait, "Do not wait for its end");
  pause_verb.callback([pause, &globals] { RunPause(*pause, globals); });

  auto resumed = std::make_shared<ResumeFlags>();
  CLI::App& resume_verb =
      Verb(app, "resume", "Queue a cancelled, paused or failed job again; it goes on from its newest checkpoint",
           resumed->id);
  resume_verb.add_option("--nproc", resumed->nproc, "Another number of ranks from now on");
  resume_verb.callback([resumed, &globals] { RunResume(*resumed, globals); });

  auto deleted = std::make_shared<std::string>();
  Verb(app, "delete", "Delete an ended job with its checkpoints, logs and metrics", *deleted)
      .callback([deleted, &globals] { RunDelete(*deleted, globals); });
}

}  // namespace ddp
