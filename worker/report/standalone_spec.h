// From the file of `ddp-worker --standalone` to what a runner would send: what ddpd does at Submit, without a daemon.
#ifndef DDP_WORKER_REPORT_STANDALONE_SPEC_H_
#define DDP_WORKER_REPORT_STANDALONE_SPEC_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files.h"
#include "worker/report/check_io.h"

namespace ddp {

struct StandaloneOptions {
  std::string spec_file;
  std::string out = "ddpd-standalone";
  bool has_gpus = false;
};

struct StandalonePlan {
  std::string folder;  // absolute
  UniqueFd lock;       // of the folder
  std::string launch;  // a serialized Launch
  std::vector<std::string> notices;
};

// `check`: CheckSpec of worker/train. An error is one violation a line, "training.lr: must be ...", in the words that
// ddpd has for them, or says what is wrong with the file or the folder.
absl::StatusOr<StandalonePlan> PlanStandalone(const StandaloneOptions& options,
                                              const std::function<CheckOutput(const CheckInput&)>& check);

}  // namespace ddp

#endif  // DDP_WORKER_REPORT_STANDALONE_SPEC_H_
