// Cancel, pause, resume, delete.
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "server/manager/job_manager.h"
#include "server/manager/watch.h"
#include "server/manager/watch_all.h"
#include "spec/spec_validation.h"

namespace ddp {

namespace {

absl::Status MayResume(const v1::Job& job) {
  if (Next(job.state(), JobTrigger::kResumeRequested)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("cannot resume job ", job.id(), ": it is ", StateName(job.state()),
                                                    "; only CANCELLED, FAILED and PAUSED jobs can be resumed"));
}

// However the path is spelled, and through whatever links; `outer` is canonical.
bool IsBelow(const std::string& path, const std::filesystem::path& outer) {
  if (path.empty()) return false;
  std::error_code error;
  const std::filesystem::path inner = std::filesystem::weakly_canonical(path, error);
  return !error && std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

}  // namespace

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

absl::Status JobManager::CheckRanks(const std::string& id, int nproc, std::vector<v1::FieldViolation>* violations) {
  v1::JobSpec spec;
  {
    std::lock_guard lock(mutex_);
    DDP_ASSIGN_OR_RETURN(const auto found, Find(id));
    DDP_RETURN_IF_ERROR(MayResume(found->second.record.job));
    spec = found->second.record.job.spec();
  }
  spec.mutable_resources()->set_nproc(nproc);
  // The rest of the spec was checked at Submit, and what the job started from may be gone by now: only the ranks count.
  const auto take = [&](const auto& all) {
    for (const v1::FieldViolation& violation : all) {
      if (violation.field() == "resources.nproc") violations->push_back(violation);
    }
  };
  take(Validate(spec, options_.machine));
  if (violations->empty()) {
    v1::CheckRequest check;
    *check.mutable_spec() = std::move(spec);
    DDP_ASSIGN_OR_RETURN(const v1::CheckResult checked, parts_.checker.Check(check));
    take(checked.violations());
  }
  if (violations->empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("resources.nproc: ", violations->front().description()));
}

absl::StatusOr<v1::Job> JobManager::Resume(const v1::ResumeJobRequest& request,
                                           std::vector<v1::FieldViolation>* violations) {
  if (request.has_nproc()) DDP_RETURN_IF_ERROR(CheckRanks(request.id(), request.nproc(), violations));
  std::lock_guard lock(mutex_);
  DDP_ASSIGN_OR_RETURN(const auto found, Find(request.id()));
  Entry& entry = found->second;
  JobRecord record = entry.record;
  DDP_RETURN_IF_ERROR(MayResume(record.job));
  v1::Resources& resources = *record.job.mutable_spec()->mutable_resources();
  std::string reason = "resume requested; waits for slots";
  if (request.has_nproc() && request.nproc() != resources.nproc()) {
    reason = absl::StrCat("resume requested, on ", request.nproc(), request.nproc() == 1 ? " rank" : " ranks",
                          " instead of ", resources.nproc(), "; waits for slots");
    resources.set_nproc(request.nproc());
  }
  WriteBatch batch;
  DDP_RETURN_IF_ERROR(Move(record, JobTrigger::kResumeRequested, reason, batch));
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

std::vector<std::string> JobManager::JobsThatStartFrom(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path outer = std::filesystem::weakly_canonical(folder, error);
  if (error) return {};
  std::lock_guard lock(mutex_);
  std::vector<std::string> ids;
  for (const auto& [id, entry] : jobs_) {
    const v1::JobState state = entry.record.job.state();
    if (IsEnded(state) && state != v1::JOB_STATE_PAUSED) continue;
    if (IsBelow(entry.record.init_path, outer)) ids.push_back(id);
  }
  return ids;
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
  Tell(job_id);
  const absl::Status removed = RemoveTree(JobFolder(job_id));
  if (!removed.ok()) LogWarning(absl::StrCat("job ", job_id, " is deleted, but: ", std::string(removed.message())));
  return absl::OkStatus();
}

}  // namespace ddp
