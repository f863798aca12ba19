// Plays ddp-runner inside the worker's own process: starts the rank, prints what it reports, and hands Ctrl-C on.
#ifndef DDP_WORKER_REPORT_STANDALONE_RUNNER_H_
#define DDP_WORKER_REPORT_STANDALONE_RUNNER_H_

#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "common/files.h"
#include "common/rendezvous.h"
#include "worker/report/standalone_spec.h"

namespace ddp {

// One in a process.
class StandaloneRunner {
 public:
  // From here on the first SIGINT or SIGTERM asks the rank to stop and save, and the second one ends the process. Lines
  // go to standard output, every metric point to metrics.csv in the plan's folder.
  static absl::StatusOr<std::unique_ptr<StandaloneRunner>> Start(StandalonePlan plan);

  // For RunWorker.
  int worker_fd() const { return worker_end_.get(); }

  // After RunWorker: prints what is left. Takes the exit code of a worker and gives the one for people: 0, 1 (failed),
  // 3 (wrong data or spec, or a loss that is not finite: trying again would not help).
  int Finish(int worker_exit_code);

 private:
  StandaloneRunner() = default;
  void Run();
  void SaveMetrics(const std::string& rows);

  StandalonePlan plan_;
  StoreSocket store_;
  UniqueFd memory_;
  UniqueFd metrics_;
  UniqueFd runner_end_;
  UniqueFd worker_end_;
  std::thread thread_;
};

}  // namespace ddp

#endif  // DDP_WORKER_REPORT_STANDALONE_RUNNER_H_
