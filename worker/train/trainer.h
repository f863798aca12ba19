// The life of a step and of an epoch.
#ifndef DDP_WORKER_TRAIN_TRAINER_H_
#define DDP_WORKER_TRAIN_TRAINER_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "worker/config.h"
#include "worker/data/dataset.h"
#include "worker/dist/gradient_reducer.h"
#include "worker/dist/group.h"
#include "worker/models/model.h"
#include "worker/models/registry.h"
#include "worker/report/runner_link.h"
#include "worker/train/batch.h"
#include "worker/train/batch_copier.h"
#include "worker/train/late_steps.h"
#include "worker/train/optimizer.h"
#include "worker/train/prefetch.h"
#include "worker/train/snapshot.h"
#include "worker/train/step_times.h"

namespace ddp {

// What the worker decided for this job, given its data. The same on every rank.
struct Plan {
  int64_t train_samples = 0;
  int64_t valid_samples = 0;
  int64_t batch_size = 0;  // global
  int64_t micro_batch = 0;
  int64_t valid_micro_batch = 0;  // not bounded by the share of a training batch
  int64_t steps_per_epoch = 0;
  int64_t total_steps = 0;
  int prefetch = 0;  // micro-batches made ahead by a thread of their own; 0: none
  // The numbers of a step are read while the next one runs (LateSteps), so that no step waits for the device.
  bool read_late = false;
};
Plan MakePlan(const WorkerConfig& config, const Dataset& data, InputKind input);

struct TrainResult {
  bool completed = false;  // false: stopped on request
  int64_t step = 0;
  int64_t saved_step = -1;
};

// Everything is borrowed and must outlive the trainer. One thread.
class Trainer {
 public:
  struct Parts {
    const WorkerConfig& config;
    const Plan& plan;
    const Dataset& data;
    Model& model;
    Optimizer& optimizer;
    Group& group;
    RunnerLink& link;
    // Rank 0: copies everything and begins to write a checkpoint.
    std::function<void(const TrainState&)> save;
    // Rank 0: waits for what is being written. The step of the newest checkpoint of this attempt (-1: none), or why the
    // last one could not be written.
    std::function<absl::StatusOr<int64_t>()> wait_saved;
    // All ranks: loads the newest checkpoint into model and optimizer.
    std::function<TrainState()> restore;
  };
  // `saved_step`: of the checkpoint that training goes on from; -1: none.
  Trainer(const Parts& parts, TrainState state, int64_t saved_step);

  // Trains to the end or until a stop that all ranks agree on; both end with a committed checkpoint of the last step.
  // Throws NoRetryError for a non-finite step that the policy does not allow and for ranks whose parameters differ,
  // PeerLostError, c10::Error.
  TrainResult Run();

 private:
  enum class Outcome { kDone, kStopped, kRolledBack };
  Outcome TrainEpoch();
  bool FinishEpoch();  // false: stopped
  // Micro-batches of this rank for the rest of the epoch, step by step.
  Prefetcher::Maker MicroBatches(const std::vector<int32_t>& order) const;
  // kStopped: before the update.
  Outcome Step(Prefetcher& batches, const StepSize& size);
  // Unset: stopped on the way.
  std::optional<LocalSums> ForwardBackward(Prefetcher& batches, int64_t samples);
  // The rest of a step: all numbers first, then the decision about the update.
  Outcome Decide(const LocalSums& local, const StepSize& size, double lr);
  // The rest of a step of Plan::read_late: the update is launched, and the numbers of the step before are read.
  void Launch(const LocalSums& local, const StepSize& size, double lr);
  // Reports launched steps, all but the newest `behind`. Sets stop_agreed_ when one of them carries a request.
  void ReadLaunched(size_t behind);
  bool IsWatched(int64_t step) const;
  void AddToEpoch(const StepSums& sums);
  // Micro-batches that `rank` makes of its share.
  int64_t Rounds(int64_t samples, int rank) const;
  bool IsLeftOut(int64_t step) const;
  Outcome LeaveOut(Prefetcher& batches, int64_t samples);
  // What is done with a step that is not finite.
  void RestoreBuffers();
  void Skip(const StepSums& sums, double norm);
  void RollBack(const StepSums& sums, double norm);
  [[noreturn]] void Fail(int64_t step, const StepSums& sums, double norm);
  static std::string NonFinite(int64_t step, const StepSums& sums, double norm);
  // Histograms of the parameters before the update of this step, and of its gradient.
  void Watch(double count);
  void ReportStep(const StepNumbers& done);
  void ReportThroughput(int64_t step, std::chrono::steady_clock::time_point now);
  void ReportProgress();
  bool Validate();
  void ShowSamples();
  void NoteBest();
  bool EndsEarly() const;
  void Save();
  // Waits until the checkpoint of the last step is there; tries once more to write it.
  void EnsureSaved();
  bool AtLimit() const { return state_.step >= parts_.plan.total_steps; }
  bool rank0() const { return parts_.group.rank() == 0; }
  void Metric(const std::string& series, double value);
  // Steps that are done once more after a roll-back have been reported.
  bool reported_before() const { return state_.step <= reported_until_; }
  void Say(const std::string& text);

  Parts parts_;
  TrainState state_;
  int64_t resumed_step_;
  int64_t reported_until_ = -1;
  int64_t skipped_ = 0;
  bool stop_agreed_ = false;
  LateSteps late_;
  std::vector<at::Tensor> kept_buffers_;  // of before the step, for one that is skipped or stopped
  bool first_step_reported_ = false;
  BatchMaker train_maker_;
  BatchMaker valid_maker_;
  BatchCopier copier_;
  GradientReducer reducer_;
  std::vector<at::Tensor> parameters_;
  ProgressReport progress_;
  int loss_series_;
  int acc_series_;
  int lr_series_;
  int norm_series_;
  // Throughput since the last time it was reported.
  std::chrono::steady_clock::time_point window_start_;
  int64_t window_steps_ = 0;
  StepSize window_;
  StepTimes times_;
};

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_TRAINER_H_
