#include "common/clock.h"

#include <ctime>

#include "absl/time/clock.h"

namespace ddp {
namespace {

class SystemClock : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
  absl::Duration Monotonic() const override {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return absl::DurationFromTimespec(now);
  }
};

}  // namespace

Clock& Clock::System() {
  static Clock* const clock = new SystemClock;
  return *clock;
}

}  // namespace ddp
