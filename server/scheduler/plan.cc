#include "server/scheduler/plan.h"

#include <algorithm>
#include <tuple>

namespace ddp {

std::vector<Placement> Plan(std::vector<WaitingJob> waiting, std::vector<int> free_slots, absl::Time now) {
  std::sort(waiting.begin(), waiting.end(), [](const WaitingJob& a, const WaitingJob& b) {
    return std::tuple(-a.priority, a.queued_since, a.id) < std::tuple(-b.priority, b.queued_since, b.id);
  });
  std::sort(free_slots.begin(), free_slots.end());
  std::vector<Placement> placements;
  auto next = free_slots.begin();
  for (const WaitingJob& job : waiting) {
    if (job.nproc <= free_slots.end() - next) {
      placements.push_back({job.id, std::vector<int>(next, next + job.nproc)});
      next += job.nproc;
    } else if (now - job.queued_since >= kPassLimit) {
      break;
    }
  }
  return placements;
}

}  // namespace ddp
