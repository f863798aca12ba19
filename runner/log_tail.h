// The end of a rank's log, for the record of its failure.
#ifndef DDP_RUNNER_LOG_TAIL_H_
#define DDP_RUNNER_LOG_TAIL_H_

#include <string>

namespace ddp {

// The last 20 lines of a file, at most its last 4096 bytes: valid UTF-8, each byte that was none replaced by '?'. Reads
// no more than that, however big the file is. Empty when it cannot be read.
std::string LogTail(const std::string& path);

}  // namespace ddp

#endif  // DDP_RUNNER_LOG_TAIL_H_
