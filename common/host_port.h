// "HOST:PORT" as flags give it.
#ifndef DDP_COMMON_HOST_PORT_H_
#define DDP_COMMON_HOST_PORT_H_

#include <string>

#include "absl/status/statusor.h"

namespace ddp {

struct HostPort {
  std::string host;  // an IPv6 address without its brackets
  int port = 0;      // 0: any free one
  // 127.0.0.1, localhost, ::1.
  bool is_loopback() const;
  // With brackets around an IPv6 address.
  std::string ToString() const;
};

// InvalidArgument begins with the flag's name.
absl::StatusOr<HostPort> ParseHostPort(const std::string& flag, const std::string& text);

}  // namespace ddp

#endif  // DDP_COMMON_HOST_PORT_H_
