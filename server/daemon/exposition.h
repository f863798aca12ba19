// The text of /metrics.
#ifndef DDP_SERVER_DAEMON_EXPOSITION_H_
#define DDP_SERVER_DAEMON_EXPOSITION_H_

#include <string>

#include "ddp/v1/system.pb.h"
#include "server/manager/job_manager.h"

namespace ddp {

// Everything that is known now. Labels are of fixed sets, but for the gauges of live jobs, which end with the job.
std::string Exposition(JobManager& manager, const v1::SystemInfo& info);

}  // namespace ddp

#endif  // DDP_SERVER_DAEMON_EXPOSITION_H_
