#include "server/manager/job_manager.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "server/manager/watch.h"
#include "server/manager/watch_all.h"
#include "server/store/convert.h"
#include "server/telemetry.h"

namespace ddp {

namespace {
constexpr std::chrono::milliseconds kPoll{100};
constexpr std::chrono::milliseconds kQuickPoll{20};
constexpr int kDefaultPage = 50;
constexpr int kLargestPage = 1000;
}  // namespace

absl::StatusOr<std::unique_ptr<JobManager>> JobManager::Open(Options options, Parts parts) {
  std::unique_ptr<JobManager> manager(new JobManager(std::move(options), parts));
  DDP_RETURN_IF_ERROR(manager->Load());
  return manager;
}

JobManager::~JobManager() {
  {
    std::lock_guard lock(thread_mutex_);
    closing_ = true;
  }
  closing_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  // Callbacks of commits that are on their way know this object and the hub. How this one ends does not matter.
  parts_.store.CommitAndWait(WriteBatch()).IgnoreError();
}

absl::Status JobManager::Load() {
  std::lock_guard lock(mutex_);
  DDP_ASSIGN_OR_RETURN(std::vector<JobRecord> records, parts_.store.reader().Jobs());
  for (JobRecord& record : records) {
    const std::string id = record.job.id();
    Entry& entry = jobs_[id];
    entry.record = std::move(record);
    if (IsEnded(entry.record.job.state())) continue;
    DDP_ASSIGN_OR_RETURN(const uint64_t last_chunk, parts_.store.reader().LastChunk(id));
    parts_.hub.Open(id, last_chunk);
    entry.feed = std::make_shared<Feed>();
    std::lock_guard feed_lock(entry.feed->mutex);
    entry.feed->staged = entry.feed->committed = entry.record.acked_seq;
  }
  return absl::OkStatus();
}

void JobManager::StartBackgroundThread() {
  thread_ = std::thread([this] {
    std::unique_lock lock(thread_mutex_);
    while (!closing_) {
      lock.unlock();
      Poll();
      lock.lock();
      closing_changed_.wait_for(lock, hurry_ ? kQuickPoll : kPoll,
                                [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return closing_; });
    }
  });
}

void JobManager::Poll() {
  std::lock_guard lock(mutex_);
  hurry_ = PollAttempts();
  Schedule();
  for (auto& [id, entry] : jobs_) TellProgress(entry);
}

std::string JobManager::JobFolder(const std::string& job_id) const {
  return absl::StrCat(options_.home, "/jobs/", job_id);
}

std::string JobManager::CheckpointFolderOf(const std::string& job_id) const {
  return JobFolder(job_id) + "/checkpoints";
}

std::string JobManager::AttemptFolder(const std::string& job_id, int attempt) const {
  return absl::StrCat(JobFolder(job_id), "/attempts/", attempt);
}

absl::StatusOr<JobManager::Table::iterator> JobManager::Find(const std::string& id) {
  if (!IsJobIdPrefix(id)) {
    return absl::InvalidArgumentError(absl::StrCat("\"", EscapeControls(id.substr(0, 40)), "\" is no job id"));
  }
  const auto first = jobs_.lower_bound(id);
  if (first == jobs_.end() || first->first.rfind(id, 0) != 0) {
    return absl::NotFoundError(absl::StrCat("there is no job ", id, "; `ddpctl list` shows them"));
  }
  const auto second = std::next(first);
  if (first->first != id && second != jobs_.end() && second->first.rfind(id, 0) == 0) {
    return absl::InvalidArgumentError(absl::StrCat("several jobs begin with ", id, ": ", first->first, ", ",
                                                   second->first, ", ...; give more of the id"));
  }
  return first;
}

absl::StatusOr<v1::Job> JobManager::Get(const std::string& id) {
  std::lock_guard lock(mutex_);
  DDP_ASSIGN_OR_RETURN(const auto found, Find(id));
  return found->second.record.job;
}

absl::StatusOr<v1::ListJobsResponse> JobManager::List(const v1::ListJobsRequest& request) {
  if (request.page_size() < 0 || request.page_size() > kLargestPage) {
    return absl::InvalidArgumentError(
        absl::StrCat("page_size: must be 0 to ", kLargestPage, ", got ", request.page_size()));
  }
  const int page = request.page_size() == 0 ? kDefaultPage : request.page_size();
  std::lock_guard lock(mutex_);
  v1::ListJobsResponse response;
  // The token is the last id of the page before.
  auto end = request.page_token().empty() ? jobs_.end() : jobs_.lower_bound(request.page_token());
  for (auto it = end; it != jobs_.begin();) {
    --it;
    const v1::Job& job = it->second.record.job;
    const auto& states = request.states();
    if (!states.empty() && std::find(states.begin(), states.end(), job.state()) == states.end()) continue;
    if (response.jobs_size() == page) {
      response.set_next_page_token(response.jobs(page - 1).id());
      break;
    }
    *response.add_jobs() = job;
  }
  return response;
}

std::vector<v1::Slot> JobManager::Slots() {
  std::lock_guard lock(mutex_);
  std::vector<v1::Slot> slots = options_.slots;
  for (const auto& [id, entry] : jobs_) {
    if (!HoldsSlots(entry.record.job.state())) continue;
    for (const int slot : entry.record.slots) {
      if (slot < static_cast<int>(slots.size())) slots[static_cast<size_t>(slot)].set_job_id(id);
    }
  }
  return slots;
}

void JobManager::AddEvent(JobRecord& record, v1::JobState from, int attempt, const std::string& reason, absl::Time now,
                          WriteBatch& batch) {
  v1::JobEvent event;
  event.set_seq(++record.last_event);
  *event.mutable_time() = ToTimestamp(now);
  event.set_from_state(from);
  event.set_to_state(record.job.state());
  event.set_attempt(attempt);
  event.set_reason(reason);
  batch.AddEvent(record.job.id(), event);
}

absl::Status JobManager::Move(JobRecord& record, JobTrigger trigger, const std::string& reason,
                              WriteBatch& batch) const {
  const v1::JobState from = record.job.state();
  const std::optional<v1::JobState> to = Next(from, trigger);
  if (!to) return absl::FailedPreconditionError(absl::StrCat("the job is ", StateName(from)));
  if (*to == from) return absl::OkStatus();
  const absl::Time now = parts_.clock.Now();
  v1::Job& job = record.job;
  job.set_state(*to);
  job.set_state_reason(reason);
  *job.mutable_update_time() = ToTimestamp(now);
  if (IsEnded(*to)) {
    *job.mutable_end_time() = ToTimestamp(now);
  } else {
    job.clear_end_time();
  }
  if (!HoldsSlots(*to)) record.slots.clear();
  AddEvent(record, from, job.attempts_size(), reason, now, batch);
  return absl::OkStatus();
}

namespace {

// For /metrics.
void CountRestart(v1::AttemptOutcome of_the_attempt_before) {
  switch (of_the_attempt_before) {
    case v1::ATTEMPT_OUTCOME_STOPPED:
      ++telemetry.restarts_stopped;
      break;
    case v1::ATTEMPT_OUTCOME_LOST:
      ++telemetry.restarts_lost;
      break;
    default:
      ++telemetry.restarts_failed;
      break;
  }
}

void CountMove(const v1::Job& from, const v1::Job& to) {
  if (to.restarts() > from.restarts()) CountRestart(to.attempts(to.attempts_size() - 1).outcome());
  if (to.state() == from.state()) return;
  switch (to.state()) {
    case v1::JOB_STATE_SUCCEEDED:
      ++telemetry.jobs_succeeded;
      break;
    case v1::JOB_STATE_FAILED:
      ++telemetry.jobs_failed;
      break;
    case v1::JOB_STATE_CANCELLED:
      ++telemetry.jobs_cancelled;
      break;
    case v1::JOB_STATE_PAUSED:
      ++telemetry.jobs_paused;
      break;
    case v1::JOB_STATE_STARTING:
      if (from.state() == v1::JOB_STATE_QUEUED) {
        telemetry.queue_wait.Observe(FromTimestamp(to.update_time()) - FromTimestamp(from.update_time()));
      }
      break;
    default:
      break;
  }
}

}  // namespace

absl::Status JobManager::Commit(Entry& entry, JobRecord record, WriteBatch batch) {
  batch.PutJob(record);
  const absl::Status status = parts_.store.CommitAndWait(std::move(batch));
  if (!status.ok()) {
    LogError(absl::StrCat("job ", record.job.id(), ": cannot store a change: ", std::string(status.message())));
    return status;
  }
  const bool was_ended = IsEnded(entry.record.job.state());
  const bool is_ended = IsEnded(record.job.state());
  CountMove(entry.record.job, record.job);
  entry.record = std::move(record);
  const std::string& id = entry.record.job.id();
  if (is_ended && !was_ended) parts_.hub.Close(id);
  LogInfo(absl::StrCat("job ", id, ": ", StateName(entry.record.job.state()),
                       entry.record.job.state_reason().empty() ? "" : ": ", entry.record.job.state_reason()));
  Changed(entry);
  return status;
}

void JobManager::Changed(Entry& entry) {
  ++entry.version;
  WakeWatchers(entry);
  entry.progress_untold = false;
  entry.progress_told_at = parts_.clock.Monotonic();
  Tell(entry.record.job.id());
}

void JobManager::WakeWatchers(Entry& entry) {
  for (JobSubscription* watcher : entry.watchers) watcher->Wake();
}

}  // namespace ddp
