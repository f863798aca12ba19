#include "worker/train/optimizer.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

namespace ddp {

Optimizer::Optimizer(const TrainingConfig& config, const NamedTensors& parameters) : config_(config) {
  const bool sgd = config.optimizer == OptimizerKind::kSgd;
  for (const auto& [name, tensor] : parameters) {
    if (!tensor.requires_grad()) continue;
    names_.push_back(name);
    parameters_.push_back(tensor);
    if (!sgd || config.momentum > 0) first_.push_back(at::zeros_like(tensor.detach()));
    if (!sgd) second_.push_back(at::zeros_like(tensor.detach()));
  }
  const auto options = at::TensorOptions(at::kFloat).device(parameters_.at(0).device());
  step_ = at::zeros({}, options);
  divisor_ = at::ones({}, options);
  step_tensors_.assign(parameters_.size(), step_);
}

std::vector<at::Tensor> Optimizer::Gradients() const {
  std::vector<at::Tensor> gradients;
  gradients.reserve(parameters_.size());
  for (const at::Tensor& p : parameters_) gradients.push_back(p.grad());
  return gradients;
}

at::Tensor Optimizer::GradientNorm(double divisor) const {
  at::NoGradGuard no_grad;
  return at::linalg_vector_norm(at::stack(at::_foreach_norm(Gradients()))).div_(divisor);
}

at::Tensor Optimizer::GradientNorm(const at::Tensor& divisor) const {
  at::NoGradGuard no_grad;
  return at::linalg_vector_norm(at::stack(at::_foreach_norm(Gradients()))).div_(divisor);
}

void Optimizer::Step(double lr, double divisor, const at::Tensor& norm) {
  at::NoGradGuard no_grad;
  divisor_.fill_(divisor);
  ++steps_;
  step_.fill_(steps_);
  Update(lr, norm, /*is_first=*/steps_ == 1, std::nullopt);
}

void Optimizer::StepUnless(const at::Tensor& hold, double lr, const at::Tensor& divisor, const at::Tensor& norm) {
  at::NoGradGuard no_grad;
  divisor_.copy_(divisor);
  step_.add_(hold.logical_not());
  // Which update is the first one is not known here; for a momentum of zeros it makes no difference.
  Update(lr, norm, /*is_first=*/false, hold);
}

void Optimizer::Update(double lr, const at::Tensor& norm, bool is_first, const std::optional<at::Tensor>& hold) {
  const std::vector<at::Tensor> gradients = Gradients();
  // The kernels divide by divisor_ anyway: clipping costs no pass over the gradients of its own.
  if (config_.clip > 0) divisor_.mul_(norm.add(1e-6).div_(config_.clip).clamp_min_(1));
  const TrainingConfig& c = config_;
  switch (c.optimizer) {
    case OptimizerKind::kAdam:
      at::_fused_adam_(parameters_, gradients, first_, second_, {}, step_tensors_, lr, c.beta1, c.beta2, c.weight_decay,
                       c.eps, /*amsgrad=*/false, /*maximize=*/false, divisor_, hold);
      break;
    case OptimizerKind::kAdamW:
      at::_fused_adamw_(parameters_, gradients, first_, second_, {}, step_tensors_, lr, c.beta1, c.beta2,
                        c.weight_decay, c.eps, /*amsgrad=*/false, /*maximize=*/false, divisor_, hold);
      break;
    case OptimizerKind::kSgd:
      at::_fused_sgd_(parameters_, gradients, first_, c.weight_decay, c.momentum, lr, /*dampening=*/0, c.nesterov,
                      /*maximize=*/false, is_first, divisor_, hold);
      break;
  }
}

NamedTensors Optimizer::state() const {
  NamedTensors all;
  const char* first = config_.optimizer == OptimizerKind::kSgd ? "momentum/" : "exp_avg/";
  for (size_t i = 0; i < first_.size(); ++i) all.emplace_back(first + names_[i], first_[i]);
  for (size_t i = 0; i < second_.size(); ++i) all.emplace_back("exp_avg_sq/" + names_[i], second_[i]);
  return all;
}

void Optimizer::set_steps(int64_t steps) {
  steps_ = steps;
  step_.fill_(steps);
}

}  // namespace ddp
