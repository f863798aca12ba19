// Processes that workers started and left behind.
#ifndef DDP_RUNNER_DESCENDANTS_H_
#define DDP_RUNNER_DESCENDANTS_H_

#include "absl/time/time.h"

namespace ddp {

// Orphans of our descendants become our children (and not init's), so that KillDescendants finds them.
void AdoptOrphans();

// SIGKILL to all descendants until none is left, and reaps them. False when some are left at the deadline.
bool KillDescendants(absl::Duration deadline);

}  // namespace ddp

#endif  // DDP_RUNNER_DESCENDANTS_H_
