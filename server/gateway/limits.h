// What one client may ask of the gateway.
#ifndef DDP_SERVER_GATEWAY_LIMITS_H_
#define DDP_SERVER_GATEWAY_LIMITS_H_

#include <chrono>
#include <cstddef>

namespace ddp {

struct WebLimits {
  std::chrono::milliseconds idle{60'000};      // until the next request's head is complete
  std::chrono::milliseconds transfer{30'000};  // a body or an answer that does not move
  size_t connections = 4096;
  size_t header_bytes = size_t{16} << 10;
};

}  // namespace ddp

#endif  // DDP_SERVER_GATEWAY_LIMITS_H_
