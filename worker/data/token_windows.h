// Training and validation windows out of files of tokens.
#ifndef DDP_WORKER_DATA_TOKEN_WINDOWS_H_
#define DDP_WORKER_DATA_TOKEN_WINDOWS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/data/dataset.h"
#include "worker/data/spec.h"

namespace ddp {

// A run of whole windows.
struct WindowRange {
  int64_t first = 0;
  int64_t count = 0;
};

// Windows are held out in chunks of consecutive ones, 1/1024 of them each (at least one window), so that what is
// remembered does not grow with the file. A chunk is held out when the hash of its number is below `fraction` of the
// range of hashes; of two or more chunks at least one is on each side.
struct WindowDivision {
  std::vector<WindowRange> train;
  std::vector<WindowRange> valid;
};
WindowDivision DivideWindows(int64_t windows, double fraction);

struct TokenData {
  std::shared_ptr<const TokenWindows> train;
  std::shared_ptr<const TokenWindows> valid;  // null: no validation
  std::string fingerprint;
};

// Opens the spec's files, and reads a little of each. Errors are FieldErrors.
absl::StatusOr<TokenData> OpenTokenWindows(const DataSpec& spec, int64_t vocab_size);

}  // namespace ddp

#endif  // DDP_WORKER_DATA_TOKEN_WINDOWS_H_
