// What the end of an attempt means for its job. A pure function.
#ifndef DDP_SERVER_JOBS_ATTEMPT_END_H_
#define DDP_SERVER_JOBS_ATTEMPT_END_H_

#include <optional>
#include <string>

#include "ddp/v1/job.pb.h"
#include "ddp/v1/runner.pb.h"
#include "server/jobs/state_machine.h"

namespace ddp {

struct AttemptEnd {
  JobTrigger trigger;
  int failures_in_row;                 // the job's new count
  std::optional<v1::Failure> failure;  // what went wrong, if anything
  std::string reason;
};

// ended: with the job's newest steps. state: the job's, which says whether anybody has asked the attempt to stop.
// failures_in_row: of the attempts before this one, since the last progress.
AttemptEnd DecideAttemptEnd(const v1::AttemptEnded& ended, v1::JobState state, int failures_in_row, int max_restarts);

}  // namespace ddp

#endif  // DDP_SERVER_JOBS_ATTEMPT_END_H_
