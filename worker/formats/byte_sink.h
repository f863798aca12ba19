// Where bytes go, one after the other.
#ifndef DDP_WORKER_FORMATS_BYTE_SINK_H_
#define DDP_WORKER_FORMATS_BYTE_SINK_H_

#include <string_view>

#include "absl/status/status.h"

namespace ddp {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  // May fail at any time (a full disk).
  virtual absl::Status Append(std::string_view bytes) = 0;
};

}  // namespace ddp

#endif  // DDP_WORKER_FORMATS_BYTE_SINK_H_
