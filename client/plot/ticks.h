// Round values along an axis, and how they are written. Pure functions.
#ifndef DDP_CLIENT_PLOT_TICKS_H_
#define DDP_CLIENT_PLOT_TICKS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace ddp {

struct Tick {
  double value;
  std::string label;
};

// All within lo..hi, rising, about `wanted` of them (never more than wanted + 1, and at least one).
std::vector<Tick> NumberTicks(double lo, double hi, int wanted);  // 1, 2 or 5 times a power of ten apart
std::vector<Tick> StepTicks(double lo, double hi, int wanted);    // whole numbers: "500", "20k", "1.5M"
std::vector<Tick> LogTicks(double lo, double hi, int wanted);     // lo > 0; powers of ten, with 2 and 5 where they fit
std::vector<Tick> DurationTicks(double lo, double hi, int wanted);  // seconds: "30s", "1h30m"
// Seconds since the Unix epoch: "12:30", "12:30:15", "Dec 03".
std::vector<Tick> ClockTicks(double lo, double hi, int wanted, const absl::TimeZone& zone);

}  // namespace ddp

#endif  // DDP_CLIENT_PLOT_TICKS_H_
