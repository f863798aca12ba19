// Reading the files that a job names.
#ifndef DDP_WORKER_DATA_INPUT_FILE_H_
#define DDP_WORKER_DATA_INPUT_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace ddp {

struct InputFile {
  std::string content;
  bool whole = false;  // false: there is more than max_bytes, and content is the head
};

// Regular files only: a pipe or device could block for ever. Errors name the path. Thread-safe.
absl::StatusOr<InputFile> ReadInput(const std::string& path, size_t max_bytes = static_cast<size_t>(-1));

}  // namespace ddp

#endif  // DDP_WORKER_DATA_INPUT_FILE_H_
