// One watcher of a job.
#ifndef DDP_SERVER_MANAGER_WATCH_H_
#define DDP_SERVER_MANAGER_WATCH_H_

#include <deque>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "server/manager/job_manager.h"
#include "server/stream_step.h"

namespace ddp {

// Next() by one thread at a time. Leaves the manager when destroyed; `wake` is not called after that.
class JobSubscription {
 public:
  JobSubscription(JobManager& manager, std::string job_id, uint64_t after_event, std::function<void()> wake)
      : manager_(manager), job_id_(std::move(job_id)), event_(after_event), wake_(std::move(wake)) {}
  ~JobSubscription();

  absl::StatusOr<StreamStep> Next(v1::WatchJobResponse& out);

 private:
  friend class JobManager;
  void Wake() const { wake_(); }

  JobManager& manager_;
  const std::string job_id_;
  uint64_t event_;        // newest event handed out
  uint64_t version_ = 0;  // of the job that was handed out last
  const std::function<void()> wake_;
  std::deque<v1::WatchJobResponse> ready_;
};

}  // namespace ddp

#endif  // DDP_SERVER_MANAGER_WATCH_H_
