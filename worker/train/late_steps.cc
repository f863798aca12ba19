#include "worker/train/late_steps.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <utility>

namespace ddp {

LateSteps::LateSteps(at::Device device)
    : device_(device), failed_(at::zeros({}, at::TensorOptions(at::kBool).device(device))) {}

at::Tensor LateSteps::Pack(const LocalSums& local, bool stop) const {
  const at::TensorOptions options = at::TensorOptions(at::kDouble).device(device_);
  // full is a kernel with its value as an argument: nothing is copied from the host.
  return at::stack({local.loss, local.correct.to(at::kDouble), at::full({}, local.count, options),
                    at::full({}, stop ? 1.0 : 0.0, options)});
}

at::Tensor LateSteps::Hold(const at::Tensor& sums, const at::Tensor& norm) {
  const at::NoGradGuard no_grad;
  const at::Tensor counted = sums[2].gt(0);
  // Sums of float32 values are far from the end of double: their sum is finite exactly when both are.
  failed_.logical_or_(at::isfinite(sums[0] + norm).logical_not().logical_and(counted));
  return failed_.logical_or(counted.logical_not()).to(at::kFloat);
}

void LateSteps::Launched(int64_t step, const StepSize& size, double lr, const at::Tensor& sums,
                         const at::Tensor& norm) {
  const bool cpu = device_.is_cpu();
  Unread unread{.numbers = {.step = step, .size = size, .lr = lr},
                .host = at::empty({5}, at::TensorOptions(at::kDouble).pinned_memory(!cpu))};
  unread.host.copy_(at::cat({sums, norm.to(at::kDouble).view({1})}), /*non_blocking=*/true);
  if (!cpu) {
    unread.arrived.emplace(device_.type());
    unread.arrived->record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  }
  unread_.push_back(std::move(unread));
}

std::optional<StepNumbers> LateSteps::Read(size_t behind) {
  if (unread_.size() <= behind) return std::nullopt;
  Unread oldest = std::move(unread_.front());
  unread_.pop_front();
  if (oldest.arrived) oldest.arrived->synchronize();
  const double* numbers = oldest.host.const_data_ptr<double>();
  oldest.numbers.sums = {.loss = numbers[0], .correct = numbers[1], .count = numbers[2]};
  oldest.numbers.stop = numbers[3] > 0;
  oldest.numbers.norm = numbers[4];
  return oldest.numbers;
}

}  // namespace ddp
