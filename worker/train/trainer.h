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
#include "worker/train/optimizer.h"
#include "worker/train/snapshot.h"

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
};
Plan MakePlan(const TrainingConfig& config, const Dataset& data, InputKind input, int world_size);

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
    // Rank 0 writes; the others only take part in the comparison of parameters before it. Gives the folder's name.
    std::function<absl::StatusOr<std::string>(const TrainState&)> save;
  };
  Trainer(const Parts& parts, TrainState state, int64_t saved_step);

  // Trains to the end or until a stop that all ranks agree on; both end with a committed checkpoint of the last step.
  // Throws NoRetryError for a non-finite loss and for ranks whose parameters differ, PeerLostError, c10::Error.
  TrainResult Run();

 private:
  struct StepSums {
    double loss = 0;
    double correct = 0;
    double count = 0;
    bool stop = false;
  };
  bool TrainEpoch();  // false: stopped
  bool FinishEpoch();
  // `samples` of all ranks, `share` of them this rank's. Unset: stopped before the update.
  std::optional<StepSums> Step(const std::vector<int64_t>& share, int64_t samples);
  std::optional<StepSums> ForwardBackward(const std::vector<int64_t>& share, int64_t samples);
  void ReportStep(const StepSums& sums, int64_t samples, double lr);
  void ReportProgress();
  bool Validate();
  // A full disk on the way is told and waited out; only the last save is required.
  void Save(bool required);
  bool AtLimit() const { return state_.step >= parts_.plan.total_steps; }
  bool rank0() const { return parts_.group.rank() == 0; }
  void Metric(const std::string& series, double value);

  Parts parts_;
  TrainState state_;
  int64_t saved_step_;
  bool first_step_reported_ = false;
  BatchMaker train_maker_;
  BatchMaker valid_maker_;
  GradientReducer reducer_;
  std::vector<at::Tensor> parameters_;
  ProgressReport progress_;
  int loss_series_;
  int acc_series_;
  int lr_series_;
  // Throughput since the last time it was reported.
  std::chrono::steady_clock::time_point window_start_;
  int64_t window_samples_ = 0;
};

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_TRAINER_H_
