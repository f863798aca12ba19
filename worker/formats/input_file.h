// Reading the files that a job names.
#ifndef DDP_WORKER_FORMATS_INPUT_FILE_H_
#define DDP_WORKER_FORMATS_INPUT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/files.h"

namespace ddp {

struct InputFile {
  std::string content;
  bool whole = false;  // false: there is more than max_bytes, and content is the head
};

struct OpenFile {
  UniqueFd fd;
  uint64_t size = 0;
};

// Regular files only: a pipe or device could block for ever. Errors name the path. Thread-safe.
absl::StatusOr<OpenFile> OpenInput(const std::string& path);

// Fills `into` from byte `offset` on. DataLoss when the file has become shorter. Thread-safe.
absl::Status ReadAt(int fd, const std::string& path, uint64_t offset, void* into, size_t bytes);

// The content. As OpenInput.
absl::StatusOr<InputFile> ReadInput(const std::string& path, size_t max_bytes = static_cast<size_t>(-1));

}  // namespace ddp

#endif  // DDP_WORKER_FORMATS_INPUT_FILE_H_
