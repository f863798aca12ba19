// The connection of one runner, as the manager sees it.
#ifndef DDP_SERVER_MANAGER_RUNNER_SESSION_H_
#define DDP_SERVER_MANAGER_RUNNER_SESSION_H_

#include "ddp/v1/runner.pb.h"

namespace ddp {

// Thread-safe; calls return at once and may come with the manager's mutex held, or from the store's writer thread.
class RunnerSession {
 public:
  virtual ~RunnerSession() = default;
  virtual void Send(const v1::CoordinatorMessage& message) = 0;
  // Ends the connection, so that the runner dials again and sends again what was not acknowledged.
  virtual void Drop() = 0;
};

}  // namespace ddp

#endif  // DDP_SERVER_MANAGER_RUNNER_SESSION_H_
