// Time as an input, so that tests own it.
#ifndef DDP_COMMON_CLOCK_H_
#define DDP_COMMON_CLOCK_H_

#include "absl/time/time.h"

namespace ddp {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Wall time: for records that people read, never for time-outs.
  virtual absl::Time Now() const = 0;
  // Never jumps: for time-outs. The origin means nothing.
  virtual absl::Duration Monotonic() const = 0;

  // The machine's clock; lives for ever.
  static Clock& System();
};

}  // namespace ddp

#endif  // DDP_COMMON_CLOCK_H_
