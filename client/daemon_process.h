// The daemon as a process.
#ifndef DDP_CLIENT_DAEMON_PROCESS_H_
#define DDP_CLIENT_DAEMON_PROCESS_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace ddp {

// Starts ddpd from beside this program in a session of its own and waits until its address is published (15 s). Another
// client that starts one at the same time is no error. Throws ExitError (kNoDaemon) with the end of its log.
void StartDaemon(const std::string& home);

// Sends SIGTERM and waits for its end. Throws ExitError.
void StopDaemon(int64_t pid, absl::Duration timeout);

}  // namespace ddp

#endif  // DDP_CLIENT_DAEMON_PROCESS_H_
