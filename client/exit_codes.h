// How ddpctl ends, and what it says.
#ifndef DDP_CLIENT_EXIT_CODES_H_
#define DDP_CLIENT_EXIT_CODES_H_

#include <grpcpp/support/status.h>

#include <stdexcept>
#include <string>

#include "ddp/v1/job.pb.h"

namespace ddp {

enum ExitCode : int {
  kOk = 0,
  kJobFailed = 1,  // submit --watch, watch, wait: the job did not end SUCCEEDED; checkpoints verify: damaged
  kUsage = 2,
  kNoDaemon = 3,
  kNotFound = 4,
  kRefused = 5,  // by the daemon
  kDetached = 130,
};

// Ends the program with the code and the message: one or more lines, without the program's name, and not escaped (Say
// does that).
struct ExitError : std::runtime_error {
  ExitError(ExitCode code, const std::string& message) : std::runtime_error(message), code(code) {}
  ExitCode code;
};

// Of a failed call. A wrong spec becomes one line per field: "--lr (training.lr): must be > 0, got 0".
ExitError ErrorOf(const grpc::Status& status);

// 0 when SUCCEEDED.
ExitCode CodeOf(v1::JobState end_state);

}  // namespace ddp

#endif  // DDP_CLIENT_EXIT_CODES_H_
