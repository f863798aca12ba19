#include "server/manager/job_manager.h"

namespace ddp {

JobOverview JobManager::Overview() {
  JobOverview overview;
  std::lock_guard lock(mutex_);
  for (const auto& [id, entry] : jobs_) {
    const v1::Job& job = entry.record.job;
    ++overview.states[job.state()];
    if (HasAttempt(job.state())) overview.live.push_back({id, job.progress(), job.checkpoint_step()});
  }
  return overview;
}

}  // namespace ddp
