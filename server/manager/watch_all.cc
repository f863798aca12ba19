#include "server/manager/watch_all.h"

#include <iterator>
#include <utility>

namespace ddp {
namespace {

// A message is full with the job that makes it larger than this. Far below 1 MiB, since a spec may be long.
constexpr size_t kFullMessage = size_t{256} << 10;

// The job as lists show it.
v1::Job Brief(const v1::Job& job) {
  v1::Job brief;
  *brief.mutable_spec() = job.spec();
  brief.set_id(job.id());
  brief.set_state(job.state());
  brief.set_state_reason(job.state_reason());
  *brief.mutable_create_time() = job.create_time();
  *brief.mutable_update_time() = job.update_time();
  if (job.has_end_time()) *brief.mutable_end_time() = job.end_time();
  brief.set_parent_id(job.parent_id());
  *brief.mutable_progress() = job.progress();
  brief.set_restarts(job.restarts());
  brief.set_checkpoint_step(job.checkpoint_step());
  if (job.has_failure()) {
    *brief.mutable_failure() = job.failure();
    brief.mutable_failure()->clear_log_tail();
  }
  if (!job.attempts().empty()) {
    v1::Attempt& newest = *brief.add_attempts();
    newest = *job.attempts().rbegin();
    if (newest.has_failure()) newest.mutable_failure()->clear_log_tail();
  }
  return brief;
}

}  // namespace

std::unique_ptr<JobsSubscription> JobManager::WatchAll(std::function<void()> wake) {
  auto subscription = std::make_unique<JobsSubscription>(*this, std::move(wake));
  std::lock_guard lock(mutex_);
  watchers_of_all_.insert(subscription.get());
  return subscription;
}

void JobManager::Tell(const std::string& id) {
  for (JobsSubscription* watcher : watchers_of_all_) watcher->Mark(id);
}

void JobManager::ProgressChanged(Entry& entry) {
  ++entry.version;
  WakeWatchers(entry);
  entry.progress_untold = true;
  TellProgress(entry);
}

void JobManager::TellProgress(Entry& entry) {
  if (!entry.progress_untold || parts_.clock.Monotonic() - entry.progress_told_at < kTellProgressEvery) return;
  entry.progress_untold = false;
  entry.progress_told_at = parts_.clock.Monotonic();
  Tell(entry.record.job.id());
}

JobsSubscription::~JobsSubscription() {
  std::lock_guard lock(manager_.mutex_);
  manager_.watchers_of_all_.erase(this);
}

void JobsSubscription::Mark(const std::string& id) {
  if (!listed_ && (!listed_until_ || id < *listed_until_)) return;  // its turn will come
  changed_.insert(id);
  wake_();
}

absl::StatusOr<StreamStep> JobsSubscription::Next(v1::WatchJobsResponse& out) {
  out.Clear();
  std::lock_guard lock(manager_.mutex_);
  if (!listed_) {
    AddListed(out);
    return StreamStep::kItem;
  }
  if (changed_.empty()) return StreamStep::kWait;
  AddChanged(out);
  return StreamStep::kItem;
}

void JobsSubscription::AddListed(v1::WatchJobsResponse& out) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  const JobManager::Table& jobs = manager_.jobs_;
  auto next = listed_until_ ? jobs.lower_bound(*listed_until_) : jobs.end();
  for (size_t bytes = 0; next != jobs.begin() && bytes < kFullMessage;) {
    --next;
    v1::Job& job = *out.add_jobs();
    job = Brief(next->second.record.job);
    bytes += job.ByteSizeLong();
    listed_until_ = next->first;
  }
  listed_ = next == jobs.begin();
  out.set_complete(listed_);
}

void JobsSubscription::AddChanged(v1::WatchJobsResponse& out) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (size_t bytes = 0; !changed_.empty() && bytes < kFullMessage;) {
    const auto id = changed_.begin();
    if (const auto found = manager_.jobs_.find(*id); found != manager_.jobs_.end()) {
      v1::Job& job = *out.add_jobs();
      job = Brief(found->second.record.job);
      bytes += job.ByteSizeLong();
    } else {
      out.add_deleted(*id);
      bytes += id->size();
    }
    changed_.erase(id);
  }
}

}  // namespace ddp
