// What the states of a job mean, for both ends.
#ifndef DDP_PROTO_JOB_STATE_H_
#define DDP_PROTO_JOB_STATE_H_

#include <string>

#include "ddp/v1/job.pb.h"

namespace ddp {

// No process, no slot; left by Resume only.
inline bool IsEnded(v1::JobState state) {
  return state == v1::JOB_STATE_PAUSED || state == v1::JOB_STATE_CANCELLED || state == v1::JOB_STATE_SUCCEEDED ||
         state == v1::JOB_STATE_FAILED;
}

// "RUNNING"
inline std::string StateName(v1::JobState state) { return v1::JobState_Name(state).substr(sizeof("JOB_STATE_") - 1); }

}  // namespace ddp

#endif  // DDP_PROTO_JOB_STATE_H_
