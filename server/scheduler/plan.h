// Which waiting jobs get slots now. A pure function.
#ifndef DDP_SERVER_SCHEDULER_PLAN_H_
#define DDP_SERVER_SCHEDULER_PLAN_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace ddp {

struct WaitingJob {
  std::string id;
  int priority = 0;
  int nproc = 1;
  absl::Time queued_since;
};

struct Placement {
  std::string job_id;
  std::vector<int> slots;  // ascending; the rank is the index
};

// A job that has waited this long is passed by no other any more.
inline constexpr absl::Duration kPassLimit = absl::Minutes(1);

// All-or-nothing for each job. Order: priority, then who came first (then the id). A smaller job may pass one that does
// not fit, until that one has waited kPassLimit: then nothing behind it starts, and slots gather for it.
std::vector<Placement> Plan(std::vector<WaitingJob> waiting, std::vector<int> free_slots, absl::Time now);

}  // namespace ddp

#endif  // DDP_SERVER_SCHEDULER_PLAN_H_
