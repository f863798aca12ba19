// One watcher of all jobs.
#ifndef DDP_SERVER_MANAGER_WATCH_ALL_H_
#define DDP_SERVER_MANAGER_WATCH_ALL_H_

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "server/manager/job_manager.h"
#include "server/stream_step.h"

namespace ddp {

// Next() by one thread at a time. Leaves the manager when destroyed; `wake` is not called after that. Who asks seldom
// gets the newest state of each job that has changed: what is kept for it are ids, each once.
class JobsSubscription {
 public:
  JobsSubscription(JobManager& manager, std::function<void()> wake) : manager_(manager), wake_(std::move(wake)) {}
  ~JobsSubscription();

  absl::StatusOr<StreamStep> Next(v1::WatchJobsResponse& out);

 private:
  friend class JobManager;
  // With the manager's mutex held: the job is new, changed or gone.
  void Mark(const std::string& id);
  void AddListed(v1::WatchJobsResponse& out);
  void AddChanged(v1::WatchJobsResponse& out);

  JobManager& manager_;
  const std::function<void()> wake_;
  // Guarded by the manager's mutex.
  bool listed_ = false;                      // all jobs have been handed out once
  std::optional<std::string> listed_until_;  // newest first, down to this one, until then
  std::set<std::string> changed_;            // since they were handed out
};

}  // namespace ddp

#endif  // DDP_SERVER_MANAGER_WATCH_ALL_H_
