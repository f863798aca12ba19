// A daemon that may be restarted while it is followed.
#ifndef DDP_CLIENT_VERBS_DAEMON_LINK_H_
#define DDP_CLIENT_VERBS_DAEMON_LINK_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "client/connection.h"

namespace ddp {

// Not thread-safe.
class DaemonLink {
 public:
  // Begins with `first`, which must live as long.
  DaemonLink(const ConnectionOptions& options, Connection& first) : options_(options), first_(first) {}

  Connection& connection() { return later_ ? *later_ : first_; }
  // Something has come over it.
  void Works() { lost_ = absl::InfinitePast(); }
  // A stream has ended with this error: looks for the daemon, for a moment, and says so when it is the first time.
  // Throws ExitError for an error that another connection does not mend, and after a minute without a daemon.
  void Mend(const grpc::Status& status, const std::function<void(const std::string& line)>& say);

 private:
  const ConnectionOptions& options_;
  Connection& first_;
  std::unique_ptr<Connection> later_;
  absl::Time lost_ = absl::InfinitePast();
};

}  // namespace ddp

#endif  // DDP_CLIENT_VERBS_DAEMON_LINK_H_
