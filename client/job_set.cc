#include "client/job_set.h"

#include <algorithm>

#include "proto/job_state.h"

namespace ddp {

bool JobSet::Apply(const v1::WatchJobsResponse& update) {
  bool changed = false;
  for (const v1::Job& job : update.jobs()) {
    const auto [known, added] = jobs_.try_emplace(job.id());
    changed |= added || known->second.state() != job.state();
    known->second = job;
  }
  for (const std::string& id : update.deleted()) changed |= jobs_.erase(id) > 0;
  complete_ |= update.complete();
  return changed;
}

std::vector<v1::Job> JobSet::Newest(size_t ended) const {
  std::vector<v1::Job> jobs;
  for (auto it = jobs_.rbegin(); it != jobs_.rend(); ++it) {
    const bool has_ended = IsEnded(it->second.state());
    if (has_ended && ended == 0) continue;
    ended -= has_ended ? 1 : 0;
    jobs.push_back(it->second);
  }
  std::reverse(jobs.begin(), jobs.end());
  return jobs;
}

}  // namespace ddp
