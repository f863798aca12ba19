// What one client may ask of the gateway.
#ifndef DDP_SERVER_GATEWAY_LIMITS_H_
#define DDP_SERVER_GATEWAY_LIMITS_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace ddp {

struct WebLimits {
  std::chrono::milliseconds idle{60'000};      // until the next request's head is complete
  std::chrono::milliseconds transfer{30'000};  // a body or an answer that does not move
  size_t connections = 4096;
  size_t header_bytes = size_t{16} << 10;
};

// Connections for a daemon that may have so many open files: half of them, so that gRPC's own connections, the store
// and log files find room.
inline size_t WebConnectionsFor(uint64_t open_files) {
  return static_cast<size_t>(std::min<uint64_t>(WebLimits{}.connections, open_files / 2));
}

}  // namespace ddp

#endif  // DDP_SERVER_GATEWAY_LIMITS_H_
