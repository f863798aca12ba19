// Who may talk to the gateway. A page of another site that a user has open must not reach the daemon: not by a request
// to its address (Origin), not by a host name that it lets point at it (Host).
#ifndef DDP_SERVER_GATEWAY_SITE_H_
#define DDP_SERVER_GATEWAY_SITE_H_

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace ddp {

// Immutable; thread-safe.
class Site {
 public:
  // Loopback names with our port are always good. names: NAME (with our port, or with none), or NAME:PORT as a tunnel
  // or a proxy shows it.
  Site(bool tls, int port, const std::vector<std::string>& names);

  // PermissionDenied says which header is wrong, and what to do. Unset: the request has no such header.
  absl::Status Check(std::optional<std::string_view> host, std::optional<std::string_view> origin) const;

 private:
  const bool tls_;
  std::set<std::string> authorities_;  // lower case
};

}  // namespace ddp

#endif  // DDP_SERVER_GATEWAY_SITE_H_
