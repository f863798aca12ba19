// Adam, AdamW and SGD by PyTorch's fused kernels.
#ifndef DDP_WORKER_TRAIN_OPTIMIZER_H_
#define DDP_WORKER_TRAIN_OPTIMIZER_H_

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "worker/config.h"

namespace ddp {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// Not thread-safe. beta 0.9 and 0.999, eps 1e-8: PyTorch's defaults.
class Optimizer {
 public:
  Optimizer(const TrainingConfig& config, const NamedTensors& parameters);

  // One update with gradient = p.grad / divisor.
  void Step(double lr, double divisor);

  // State keyed by "moment/parameter" ("exp_avg/head.weight"), for checkpoints. The tensors are the live ones: loading
  // is copying into them.
  NamedTensors state() const;
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps);

 private:
  OptimizerKind kind_;
  double weight_decay_;
  double momentum_;
  int64_t steps_ = 0;
  std::vector<std::string> names_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> first_;         // exp_avg, or the momentum buffer
  std::vector<at::Tensor> second_;        // exp_avg_sq
  std::vector<at::Tensor> step_tensors_;  // one shared counter, once per parameter as the kernels want it
  at::Tensor step_;
  at::Tensor divisor_;
};

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_OPTIMIZER_H_
