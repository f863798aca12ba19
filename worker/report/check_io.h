// Input and output of `ddp-worker --check`, as plain structs.
#ifndef DDP_WORKER_REPORT_CHECK_IO_H_
#define DDP_WORKER_REPORT_CHECK_IO_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/config.h"

namespace ddp {

struct CheckInput {
  TrainingConfig training;
  int world_size = 1;
  std::string init_path;
};

struct CheckOutput {
  std::vector<std::pair<std::string, std::string>> violations;  // (field path, what is wrong)
  std::vector<std::string> notices;
};

// From a serialized CheckRequest.
absl::StatusOr<CheckInput> ParseCheckRequest(const std::string& serialized);
// To a serialized CheckResult.
std::string SerializeCheckResult(const CheckOutput& output);

}  // namespace ddp

#endif  // DDP_WORKER_REPORT_CHECK_IO_H_
