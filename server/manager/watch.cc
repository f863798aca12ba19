#include "server/manager/watch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ddp {

absl::StatusOr<std::unique_ptr<JobSubscription>> JobManager::Watch(const std::string& id, uint64_t after_event,
                                                                   std::function<void()> wake) {
  std::lock_guard lock(mutex_);
  DDP_ASSIGN_OR_RETURN(const auto found, Find(id));
  auto subscription = std::make_unique<JobSubscription>(*this, found->first, after_event, std::move(wake));
  found->second.watchers.insert(subscription.get());
  return subscription;
}

JobSubscription::~JobSubscription() {
  std::lock_guard lock(manager_.mutex_);
  const auto found = manager_.jobs_.find(job_id_);
  if (found != manager_.jobs_.end()) found->second.watchers.erase(this);
}

absl::StatusOr<StreamStep> JobSubscription::Next(v1::WatchJobResponse& out) {
  out.Clear();
  if (ready_.empty()) {
    v1::Job job;
    uint64_t last_event = 0;
    {
      std::lock_guard lock(manager_.mutex_);
      const auto found = manager_.jobs_.find(job_id_);
      if (found == manager_.jobs_.end()) return absl::NotFoundError(absl::StrCat("job ", job_id_, " has been deleted"));
      const JobManager::Entry& entry = found->second;
      if (entry.version == version_) {
        return IsEnded(entry.record.job.state()) ? StreamStep::kEnd : StreamStep::kWait;
      }
      version_ = entry.version;
      job = entry.record.job;
      last_event = entry.record.last_event;
    }
    *ready_.emplace_back().mutable_job() = std::move(job);
    if (last_event > event_) {
      DDP_ASSIGN_OR_RETURN(const std::vector<v1::JobEvent> events,
                           manager_.parts_.store.reader().Events(job_id_, event_, last_event));
      for (const v1::JobEvent& event : events) *ready_.emplace_back().mutable_event() = event;
      event_ = last_event;
    }
  }
  out = std::move(ready_.front());
  ready_.pop_front();
  return StreamStep::kItem;
}

}  // namespace ddp
