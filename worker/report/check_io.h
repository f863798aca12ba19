// Input and output of `ddp-worker --check`, as plain structs.
#ifndef DDP_WORKER_REPORT_CHECK_IO_H_
#define DDP_WORKER_REPORT_CHECK_IO_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/config.h"

namespace ddp {

struct CheckInput {
  TrainingConfig training;
  int world_size = 1;
  bool cuda = false;
  std::string init_path;
  bool parent_only = false;  // only tell what init_path, a checkpoint folder, was made with
};

struct CheckParent {
  std::string model_name;
  std::map<std::string, std::string> model_options;
  int64_t max_tokens = 0;
};

struct CheckOutput {
  std::vector<std::pair<std::string, std::string>> violations;  // (field path, what is wrong)
  std::vector<std::string> notices;
  std::optional<CheckParent> parent;
};

// From a serialized CheckRequest.
absl::StatusOr<CheckInput> ParseCheckRequest(const std::string& serialized);
// To a serialized CheckResult.
std::string SerializeCheckResult(const CheckOutput& output);

}  // namespace ddp

#endif  // DDP_WORKER_REPORT_CHECK_IO_H_
