// What the keys of ddpctl top ask of the daemon.
#ifndef DDP_CLIENT_VERBS_TOP_ACTIONS_H_
#define DDP_CLIENT_VERBS_TOP_ACTIONS_H_

#include <string>

#include "client/connection.h"
#include "client/running_calls.h"
#include "client/top_view.h"

namespace ddp {

// Cancels, pauses or resumes the job; what came of it, in a line. A daemon that refuses or is away is told, not thrown.
std::string DoAction(const TopAction& action, const ConnectionOptions& options, RunningCalls& calls);

}  // namespace ddp

#endif  // DDP_CLIENT_VERBS_TOP_ACTIONS_H_
