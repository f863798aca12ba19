#include "worker/train/optimizer.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

namespace ddp {

namespace {
constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;
constexpr double kEps = 1e-8;
}  // namespace

Optimizer::Optimizer(const TrainingConfig& config, const NamedTensors& parameters)
    : kind_(config.optimizer), weight_decay_(config.weight_decay), momentum_(config.momentum) {
  for (const auto& [name, tensor] : parameters) {
    if (!tensor.requires_grad()) continue;
    names_.push_back(name);
    parameters_.push_back(tensor);
    if (kind_ != OptimizerKind::kSgd || momentum_ > 0) first_.push_back(at::zeros_like(tensor.detach()));
    if (kind_ != OptimizerKind::kSgd) second_.push_back(at::zeros_like(tensor.detach()));
  }
  const auto options = at::TensorOptions(at::kFloat).device(parameters_.at(0).device());
  step_ = at::zeros({}, options);
  divisor_ = at::ones({}, options);
  step_tensors_.assign(parameters_.size(), step_);
}

void Optimizer::Step(double lr, double divisor) {
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  gradients.reserve(parameters_.size());
  for (const at::Tensor& p : parameters_) gradients.push_back(p.grad());
  divisor_.fill_(divisor);
  ++steps_;
  step_.fill_(steps_);
  switch (kind_) {
    case OptimizerKind::kAdam:
      at::_fused_adam_(parameters_, gradients, first_, second_, {}, step_tensors_, lr, kBeta1, kBeta2, weight_decay_,
                       kEps, /*amsgrad=*/false, /*maximize=*/false, divisor_);
      break;
    case OptimizerKind::kAdamW:
      at::_fused_adamw_(parameters_, gradients, first_, second_, {}, step_tensors_, lr, kBeta1, kBeta2, weight_decay_,
                        kEps, /*amsgrad=*/false, /*maximize=*/false, divisor_);
      break;
    case OptimizerKind::kSgd:
      at::_fused_sgd_(parameters_, gradients, first_, weight_decay_, momentum_, lr, /*dampening=*/0,
                      /*nesterov=*/false, /*maximize=*/false, /*is_first_step=*/steps_ == 1, divisor_);
      break;
  }
}

NamedTensors Optimizer::state() const {
  NamedTensors all;
  const char* first = kind_ == OptimizerKind::kSgd ? "momentum/" : "exp_avg/";
  for (size_t i = 0; i < first_.size(); ++i) all.emplace_back(first + names_[i], first_[i]);
  for (size_t i = 0; i < second_.size(); ++i) all.emplace_back("exp_avg_sq/" + names_[i], second_[i]);
  return all;
}

void Optimizer::set_steps(int64_t steps) { steps_ = steps; }

}  // namespace ddp
