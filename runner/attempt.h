// One attempt, from the start of its workers to the record of how it ended.
#ifndef DDP_RUNNER_ATTEMPT_H_
#define DDP_RUNNER_ATTEMPT_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "attempt/event_log.h"
#include "common/clock.h"
#include "common/framing.h"
#include "ddp/v1/worker.pb.h"
#include "runner/link.h"
#include "runner/system_probe.h"
#include "runner/system_sampler.h"
#include "runner/verdict.h"
#include "runner/worker_process.h"

namespace ddp {

// Run() by one thread; RequestStop and Fence from any thread or signal handler.
class Attempt {
 public:
  Attempt(v1::Launch launch, int lock_fd, Clock& clock, SystemProbe& probe);
  ~Attempt();

  // Blocks until no process of the attempt is left and exit.pb is written. An error: the attempt could not be recorded.
  absl::Status Run();

  // Two-phase stop; force kills at once. Async-signal-safe.
  void RequestStop(bool force);

 private:
  struct Rank {
    WorkerProcess process;
    FrameDecoder decoder;
    RankRecord record;
    bool socket_open = true;
    uint64_t sync = 0;  // waits for its answer; 0: none
  };

  absl::Status Start();
  void Loop();
  int PollTimeoutMs() const;
  void Poll();
  void Drain(Rank& rank, int number);
  void TakeEvent(Rank& rank, int number, v1::WorkerEvent event);
  void AnswerSyncs();
  void SampleSystem();
  void ReapEnded();
  void ApplyStop();
  void ApplyDeadlines();
  void SignalRanks(int signal);
  void Record(v1::RunnerEvent event);
  absl::Status Finish(const v1::AttemptEnded& ended);
  bool AllEnded() const;

  const v1::Launch launch_;
  const int lock_fd_;
  Clock& clock_;
  UniqueFd wake_;                  // eventfd: a stop request, or the end of a signal handler
  std::atomic<int> requested_{0};  // StopRequest
  StopRequest applied_ = StopRequest::kNone;
  std::vector<Rank> ranks_;
  SystemSampler sampler_;
  std::unique_ptr<EventLog> log_;
  std::unique_ptr<Link> link_;
  int exits_seen_ = 0;
  int failures_heard_ = 0;
  int64_t last_step_ = 0;
  int64_t saved_step_ = -1;
  // What happens when these pass (Clock::Monotonic).
  absl::Duration terminate_at_ = absl::InfiniteDuration();
  absl::Duration kill_at_ = absl::InfiniteDuration();
};

}  // namespace ddp

#endif  // DDP_RUNNER_ATTEMPT_H_
