// The daemon as a process.
#ifndef DDP_CLIENT_DAEMON_PROCESS_H_
#define DDP_CLIENT_DAEMON_PROCESS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/time/time.h"

namespace ddp {

// Starts ddpd from beside this program in a session of its own and waits until one answers (15 s): an address file
// proves nothing, since a killed daemon leaves it behind. Another client that starts one at the same time is no error.
// Throws ExitError (kNoDaemon) with what it wrote into its log.
void StartDaemon(const std::string& home, const std::function<bool()>& answers);

// Sends SIGTERM and waits for its end. Throws ExitError.
void StopDaemon(int64_t pid, absl::Duration timeout);

}  // namespace ddp

#endif  // DDP_CLIENT_DAEMON_PROCESS_H_
