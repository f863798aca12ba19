// Adam, AdamW and SGD by PyTorch's fused kernels.
#ifndef DDP_WORKER_TRAIN_OPTIMIZER_H_
#define DDP_WORKER_TRAIN_OPTIMIZER_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "worker/config.h"

namespace ddp {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// Not thread-safe. Parameters without requires_grad are left alone.
class Optimizer {
 public:
  // At least one parameter requires a gradient; all of them are float32 on one device.
  Optimizer(const TrainingConfig& config, const NamedTensors& parameters);

  // The 2-norm of all gradients together, each p.grad / divisor. One value on the device, made without a
  // synchronisation.
  at::Tensor GradientNorm(double divisor) const;
  at::Tensor GradientNorm(const at::Tensor& divisor) const;  // float scalar on the device

  // One update with gradient = p.grad / divisor, scaled down to the config's largest norm when `norm`, that of
  // GradientNorm, is above it: by clip / (norm + 1e-6), as torch.nn.utils.clip_grad_norm_ does.
  void Step(double lr, double divisor, const at::Tensor& norm);
  // The same for numbers that only the device knows yet, all float scalars there: nothing changes when `hold` is 1. The
  // caller counts an update with CountStep as soon as it knows of it.
  void StepUnless(const at::Tensor& hold, double lr, const at::Tensor& divisor, const at::Tensor& norm);
  void CountStep() { ++steps_; }

  // State keyed by "moment/parameter" ("exp_avg/head.weight"), for checkpoints. The tensors are the live ones: loading
  // is copying into them.
  NamedTensors state() const;
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps);

 private:
  std::vector<at::Tensor> Gradients() const;
  // By divisor_ and step_.
  void Update(double lr, const at::Tensor& norm, bool is_first, const std::optional<at::Tensor>& hold);

  TrainingConfig config_;
  int64_t steps_ = 0;
  std::vector<std::string> names_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> first_;         // exp_avg, or the momentum buffer
  std::vector<at::Tensor> second_;        // exp_avg_sq
  std::vector<at::Tensor> step_tensors_;  // one shared counter, once per parameter as the kernels want it
  at::Tensor step_;                       // updates done
  at::Tensor divisor_;
};

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_OPTIMIZER_H_
