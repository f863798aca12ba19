// The check that needs the worker's knowledge (data, models, parents), in a process of its own: ddpd never parses user
// data.
#ifndef DDP_SERVER_JOBS_SPEC_CHECKER_H_
#define DDP_SERVER_JOBS_SPEC_CHECKER_H_

#include <string>

#include "absl/status/statusor.h"
#include "ddp/v1/worker.pb.h"

namespace ddp {

// Thread-safe. Blocks.
class SpecChecker {
 public:
  virtual ~SpecChecker() = default;
  // An error: the check itself could not be done.
  virtual absl::StatusOr<v1::CheckResult> Check(const v1::CheckRequest& request) = 0;
};

// Runs `worker_binary --check`, 10 s at most.
class WorkerSpecChecker final : public SpecChecker {
 public:
  explicit WorkerSpecChecker(std::string worker_binary) : worker_binary_(std::move(worker_binary)) {}
  absl::StatusOr<v1::CheckResult> Check(const v1::CheckRequest& request) override;

 private:
  const std::string worker_binary_;
};

}  // namespace ddp

#endif  // DDP_SERVER_JOBS_SPEC_CHECKER_H_
