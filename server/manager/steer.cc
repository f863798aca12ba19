// Cancel, pause, resume, delete.
#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "server/manager/job_manager.h"
#include "server/manager/watch.h"

namespace ddp {

absl::StatusOr<v1::Job> JobManager::Cancel(const std::string& id, bool force) {
  return Stop(id, JobTrigger::kCancelRequested, force);
}

absl::StatusOr<v1::Job> JobManager::Pause(const std::string& id) {
  return Stop(id, JobTrigger::kPauseRequested, /*force=*/false);
}

absl::StatusOr<v1::Job> JobManager::Stop(const std::string& id, JobTrigger trigger, bool force) {
  std::lock_guard lock(mutex_);
  DDP_ASSIGN_OR_RETURN(const auto found, Find(id));
  Entry& entry = found->second;
  const std::string verb = trigger == JobTrigger::kCancelRequested ? "cancel" : "pause";
  const v1::JobState before = entry.record.job.state();
  JobRecord record = entry.record;
  WriteBatch batch;
  const absl::Status moved = Move(record, trigger, absl::StrCat(verb, " requested", force ? " (by force)" : ""), batch);
  if (!moved.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot ", verb, " job ", found->first, ": it is ", StateName(before)));
  }
  if (record.job.state() != before) DDP_RETURN_IF_ERROR(Commit(entry, std::move(record), std::move(batch)));
  entry.force_stop |= force;
  if (HasAttempt(entry.record.job.state())) SendStop(entry);
  Schedule();
  return entry.record.job;
}

void JobManager::SendStop(const Entry& entry) {
  v1::CoordinatorMessage message;
  message.mutable_stop()->set_force(entry.force_stop);
  std::lock_guard lock(entry.feed->mutex);
  // Without a session it is sent when the runner dials in.
  if (const std::shared_ptr<RunnerSession> session = entry.feed->session.lock()) session->Send(message);
}

absl::StatusOr<v1::Job> JobManager::Resume(const std::string& id) {
  std::lock_guard lock(mutex_);
  DDP_ASSIGN_OR_RETURN(const auto found, Find(id));
  Entry& entry = found->second;
  JobRecord record = entry.record;
  WriteBatch batch;
  if (!Move(record, JobTrigger::kResumeRequested, "resume requested; waits for slots", batch).ok()) {
    return absl::FailedPreconditionError(absl::StrCat("cannot resume job ", found->first, ": it is ",
                                                      StateName(entry.record.job.state()),
                                                      "; only CANCELLED, FAILED and PAUSED jobs can be resumed"));
  }
  record.failures_in_row = 0;
  record.job.clear_failure();
  DDP_ASSIGN_OR_RETURN(const uint64_t last_chunk, parts_.store.reader().LastChunk(found->first));
  DDP_RETURN_IF_ERROR(Commit(entry, std::move(record), std::move(batch)));
  entry.force_stop = false;
  entry.feed = std::make_shared<Feed>();
  parts_.hub.Open(found->first, last_chunk);
  Schedule();
  return entry.record.job;
}

absl::Status JobManager::Delete(const std::string& id) {
  std::lock_guard lock(mutex_);
  DDP_ASSIGN_OR_RETURN(const auto found, Find(id));
  const std::string job_id = found->first;
  if (!IsEnded(found->second.record.job.state())) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot delete job ", job_id, ": it is ", StateName(found->second.record.job.state()), "; cancel it first"));
  }
  for (const auto& [other, entry] : jobs_) {
    if (entry.record.job.parent_id() == job_id && !IsEnded(entry.record.job.state())) {
      return absl::FailedPreconditionError(
          absl::StrCat("cannot delete job ", job_id, ": job ", other, " starts from its checkpoint and has not ended"));
    }
  }
  WriteBatch batch;
  batch.DeleteJob(job_id);
  DDP_RETURN_IF_ERROR(parts_.store.CommitAndWait(std::move(batch)));
  for (JobSubscription* watcher : found->second.watchers) watcher->Wake();
  jobs_.erase(found);
  const absl::Status removed = RemoveTree(JobFolder(job_id));
  if (!removed.ok()) LogWarning(absl::StrCat("job ", job_id, " is deleted, but: ", std::string(removed.message())));
  return absl::OkStatus();
}

}  // namespace ddp
