// Starting attempts and ending them.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "attempt/event_log.h"
#include "attempt/records.h"
#include "common/files.h"
#include "common/ids.h"
#include "common/logging.h"
#include "server/jobs/attempt_end.h"
#include "server/jobs/restart_policy.h"
#include "server/manager/job_manager.h"
#include "server/scheduler/plan.h"
#include "server/store/convert.h"

namespace ddp {

namespace {

double Jitter() { return static_cast<double>(RandomBits() >> 11) * 0x1p-53; }

}  // namespace

void JobManager::Schedule() {
  std::vector<bool> taken(options_.slots.size(), false);
  std::vector<WaitingJob> waiting;
  std::vector<Entry*> impossible;
  std::vector<Entry*> due;
  for (auto& [id, entry] : jobs_) {
    const v1::Job& job = entry.record.job;
    if (HoldsSlots(job.state())) {
      for (const int slot : entry.record.slots) {
        if (slot < static_cast<int>(taken.size())) taken[static_cast<size_t>(slot)] = true;
      }
      if (job.state() == v1::JOB_STATE_RESTARTING && parts_.clock.Monotonic() >= entry.retry_at) due.push_back(&entry);
    } else if (job.state() == v1::JOB_STATE_QUEUED) {
      const int nproc = job.spec().resources().nproc();
      if (nproc > static_cast<int>(options_.slots.size())) {
        impossible.push_back(&entry);
      } else {
        waiting.push_back({id, job.spec().priority(), nproc, FromTimestamp(job.update_time())});
      }
    }
  }
  for (Entry* entry : impossible) {
    JobRecord record = entry->record;
    WriteBatch batch;
    const std::string reason = absl::StrCat("it needs ", record.job.spec().resources().nproc(),
                                            " slots, and this machine has only ", options_.slots.size());
    if (Move(record, JobTrigger::kFailedFinal, reason, batch).ok()) {
      // A failed commit is logged there and tried again with the next poll.
      Commit(*entry, std::move(record), std::move(batch)).IgnoreError();
    }
  }
  for (Entry* entry : due) StartAttempt(*entry, JobTrigger::kRetryDue, entry->record.slots);
  if (waiting.empty()) return;
  std::vector<int> free;
  for (size_t slot = 0; slot < taken.size(); ++slot) {
    if (!taken[slot]) free.push_back(static_cast<int>(slot));
  }
  for (const Placement& placement : Plan(std::move(waiting), std::move(free), parts_.clock.Now())) {
    StartAttempt(jobs_.at(placement.job_id), JobTrigger::kPlaced, placement.slots);
  }
}

v1::Launch JobManager::MakeLaunch(const JobRecord& record) const {
  const v1::Job& job = record.job;
  const v1::Resources& resources = job.spec().resources();
  const int number = job.attempts(job.attempts_size() - 1).number();
  v1::Launch launch;
  launch.set_format_version(1);
  launch.set_job_id(job.id());
  launch.set_attempt(number);
  launch.set_secret(record.secret);
  *launch.mutable_spec() = job.spec();
  launch.set_home(options_.home);
  launch.set_attempt_dir(AttemptFolder(job.id(), number));
  launch.set_checkpoint_dir(CheckpointFolderOf(job.id()));
  launch.set_init_path(record.init_path);
  launch.set_token_cache(options_.home + "/cache/tokens");
  const bool cuda = resources.device() == v1::DEVICE_CUDA;
  launch.set_worker_binary(cuda ? options_.cuda_worker_binary : options_.worker_binary);
  launch.set_threads_per_rank(std::max(1, options_.cores / std::max(1, resources.nproc())));
  if (cuda) *launch.mutable_gpus() = {record.slots.begin(), record.slots.end()};
  launch.set_stop_grace_seconds(options_.stop_grace_seconds);
  return launch;
}

void JobManager::StartAttempt(Entry& entry, JobTrigger trigger, const std::vector<int>& slots) {
  JobRecord record = entry.record;
  v1::Job& job = record.job;
  WriteBatch batch;
  record.slots = slots;
  const int number = job.attempts_size() + 1;
  v1::Attempt& attempt = *job.add_attempts();
  attempt.set_number(number);
  attempt.set_nproc(job.spec().resources().nproc());
  *attempt.mutable_start_time() = ToTimestamp(parts_.clock.Now());
  attempt.set_start_step(std::max<int64_t>(0, job.checkpoint_step()));
  attempt.set_last_step(attempt.start_step());
  record.secret = MakeSecret();
  record.acked_seq = 0;
  const std::string reason =
      absl::StrCat("attempt ", number, " on the ", slots.size() == 1 ? "slot " : "slots ", absl::StrJoin(slots, ", "),
                   job.checkpoint_step() >= 0 ? absl::StrCat(", from step ", job.checkpoint_step()) : std::string());
  if (!Move(record, trigger, reason, batch).ok()) return;
  batch.PutAttempt(job.id(), attempt, record.secret);
  // Durable before the process starts: whatever happens next, the attempt is known.
  if (!Commit(entry, std::move(record), std::move(batch)).ok()) return;
  entry.feed = std::make_shared<Feed>();
  entry.ended.reset();
  entry.force_stop = false;
  const v1::Launch launch = MakeLaunch(entry.record);
  absl::StatusOr<int64_t> pid = parts_.launcher.Launch(launch);
  if (!pid.ok()) {
    FinishWith(entry, FailedWithoutRank(absl::StrCat("cannot start the runner: ", std::string(pid.status().message())),
                                        entry.record.job.attempts(number - 1).start_step()));
    return;
  }
  entry.record.job.mutable_attempts(number - 1)->set_runner_pid(*pid);
}

bool JobManager::PollAttempts() {
  bool hurry = false;
  std::vector<Entry*> ended;
  for (auto& [id, entry] : jobs_) {
    const v1::JobState state = entry.record.job.state();
    if (!HasAttempt(state)) continue;
    hurry |= entry.ended.has_value() || state == v1::JOB_STATE_CANCELLING || state == v1::JOB_STATE_PAUSING;
    if (!parts_.launcher.Alive(AttemptFolder(id, entry.record.job.attempts_size()))) ended.push_back(&entry);
  }
  for (Entry* entry : ended) FinishAttempt(*entry);
  return hurry;
}

void JobManager::FinishAttempt(Entry& entry) {
  // No process is left, so the files are complete. What was not delivered over the connection comes out of them.
  if (const absl::Status drained = DrainFiles(entry); !drained.ok()) {
    LogWarning(absl::StrCat("job ", entry.record.job.id(), ": ", std::string(drained.message()), "; trying again"));
    return;
  }
  if (entry.ended) {
    FinishWith(entry, *entry.ended);
    return;
  }
  const v1::Job& job = entry.record.job;
  const std::string path = absl::StrCat(AttemptFolder(job.id(), job.attempts_size()), "/", kExitRecordName);
  const absl::StatusOr<std::string> text = ReadFile(path);
  v1::AttemptEnded ended;
  if (text.ok() && ended.ParseFromString(*text)) {
    FinishWith(entry, ended);
    return;
  }
  ended = FailedWithoutRank("the runner vanished without a word (killed, or the machine was restarted)",
                            job.attempts(job.attempts_size() - 1).last_step());
  ended.set_outcome(v1::ATTEMPT_OUTCOME_LOST);
  FinishWith(entry, ended);
}

void JobManager::FinishWith(Entry& entry, const v1::AttemptEnded& ended) {
  JobRecord record = entry.record;
  v1::Job& job = record.job;
  v1::Attempt& attempt = *job.mutable_attempts(job.attempts_size() - 1);
  attempt.set_outcome(ended.outcome());
  *attempt.mutable_end_time() = ToTimestamp(parts_.clock.Now());
  attempt.set_last_step(std::max(attempt.last_step(), ended.step()));
  job.mutable_progress()->set_step(std::max(job.progress().step(), ended.step()));
  job.set_checkpoint_step(std::max(job.checkpoint_step(), ended.saved_step()));
  record.secret.clear();

  v1::AttemptEnded newest = ended;
  newest.set_step(attempt.last_step());
  newest.set_saved_step(job.checkpoint_step());
  const AttemptEnd end = DecideAttemptEnd(newest, job.state(), record.failures_in_row, job.spec().max_restarts());
  record.failures_in_row = end.failures_in_row;
  if (end.failure) *attempt.mutable_failure() = *job.mutable_failure() = *end.failure;
  WriteBatch batch;
  // Cannot be refused: every state with an attempt takes these triggers.
  if (!Move(record, end.trigger, end.reason, batch).ok()) return;
  const bool restarting = job.state() == v1::JOB_STATE_RESTARTING;
  if (restarting) job.set_restarts(job.restarts() + 1);
  if (job.state() == v1::JOB_STATE_SUCCEEDED) job.clear_failure();
  batch.PutAttempt(job.id(), attempt, "");
  if (!Commit(entry, std::move(record), std::move(batch)).ok()) return;  // tried again by the next poll
  entry.ended.reset();
  entry.retry_at =
      parts_.clock.Monotonic() + (restarting ? Backoff(end.failures_in_row, Jitter()) : absl::ZeroDuration());
}

}  // namespace ddp
