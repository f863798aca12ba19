#include "worker/train/standalone.h"

#include <ATen/Context.h>

#include <iostream>

#include "worker/report/standalone_runner.h"
#include "worker/report/standalone_spec.h"
#include "worker/train/check.h"
#include "worker/train/worker.h"

namespace ddp {

namespace {

constexpr int kExitRefused = 3;

int Refuse(const absl::Status& status) {
  std::cerr << "ddp-worker: " << status.message() << std::endl;
  return kExitRefused;
}

int Train(const StandaloneOptions& options) {
  absl::StatusOr<StandalonePlan> plan = PlanStandalone(options, CheckSpec);
  if (!plan.ok()) return Refuse(plan.status());
  for (const std::string& notice : plan->notices) std::cerr << "note: " << notice << std::endl;
  absl::StatusOr<std::unique_ptr<StandaloneRunner>> runner = StandaloneRunner::Start(*std::move(plan));
  if (!runner.ok()) return Refuse(runner.status());
  return (*runner)->Finish(RunWorker((*runner)->worker_fd()));
}

}  // namespace

std::optional<int> RunStandalone(const std::vector<std::string>& arguments) {
  const bool has_out = arguments.size() == 3 && arguments[1] == "--out" && !arguments[2].empty();
  if (arguments.size() != 1 && !has_out) return std::nullopt;
  StandaloneOptions options;
  options.spec_file = arguments[0];
  if (has_out) options.out = arguments[2];
  options.has_gpus = at::hasCUDA();
  return Train(options);
}

}  // namespace ddp
