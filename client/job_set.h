// All jobs, as JobService.WatchAll tells of them.
#ifndef DDP_CLIENT_JOB_SET_H_
#define DDP_CLIENT_JOB_SET_H_

#include <map>
#include <string>
#include <vector>

#include "ddp/v1/job.pb.h"

namespace ddp {

// Of one stream. Not thread-safe.
class JobSet {
 public:
  // True: a job is new, gone, or in another state; slots may have changed hands.
  bool Apply(const v1::WatchJobsResponse& update);
  // The stream has told of all jobs that there were when it began.
  bool complete() const { return complete_; }
  // All live jobs and the newest ended ones, at most `ended` of them, in the order of their ids.
  std::vector<v1::Job> Newest(size_t ended) const;

 private:
  std::map<std::string, v1::Job> jobs_;  // by id; ids rise with the time at which they were made
  bool complete_ = false;
};

}  // namespace ddp

#endif  // DDP_CLIENT_JOB_SET_H_
