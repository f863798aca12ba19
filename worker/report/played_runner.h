// ddp-runner's side of a rank's socket, for tests that include torch.
#ifndef DDP_WORKER_REPORT_PLAYED_RUNNER_H_
#define DDP_WORKER_REPORT_PLAYED_RUNNER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "worker/report/runner_link.h"

namespace ddp {

// A WorkerCommand, serialized: the least that a link takes for a start.
std::string LeastStart();

// Starts a link and takes down what comes over it.
class PlayedRunner {
 public:
  PlayedRunner();
  ~PlayedRunner();
  PlayedRunner(const PlayedRunner&) = delete;
  PlayedRunner& operator=(const PlayedRunner&) = delete;

  RunnerLink& link() { return *link_; }
  // Returns when the link knows of it.
  void AskForStop();

  // Ends the report: all points by series, as "step -> value" in the order in which they came.
  using Points = std::map<std::string, std::vector<std::pair<int64_t, double>>>;
  Points Finish();

 private:
  void Listen();

  int fd_ = -1;  // never closed: a link takes the end of its socket for the end of its runner
  std::unique_ptr<RunnerLink> link_;
  Points points_;
  std::thread thread_;
};

}  // namespace ddp

#endif  // DDP_WORKER_REPORT_PLAYED_RUNNER_H_
