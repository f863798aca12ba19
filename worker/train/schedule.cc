#include "worker/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ddp {

namespace {

double AfterWarmup(const TrainingConfig& config, int64_t epoch, int64_t step, int64_t total_steps) {
  const int64_t span = std::max<int64_t>(1, total_steps - config.warmup);
  const double t = std::clamp(static_cast<double>(step - config.warmup) / static_cast<double>(span), 0.0, 1.0);
  switch (config.schedule) {
    case ScheduleKind::kConstant:
      return config.lr;
    case ScheduleKind::kStep:
      return config.lr * std::pow(config.gamma, static_cast<double>(epoch / config.step_size));
    case ScheduleKind::kMultistep: {
      const auto passed = std::count_if(config.milestones.begin(), config.milestones.end(),
                                        [&](int milestone) { return milestone <= epoch; });
      return config.lr * std::pow(config.gamma, static_cast<double>(passed));
    }
    case ScheduleKind::kCosine:
      return config.min_lr + (config.lr - config.min_lr) * (1 + std::cos(std::numbers::pi * t)) / 2;
    case ScheduleKind::kLinear:
      return config.lr + (config.min_lr - config.lr) * t;
  }
  return config.lr;
}

}  // namespace

double LearningRate(const TrainingConfig& config, int64_t epoch, int64_t step, int64_t total_steps) {
  const double lr = AfterWarmup(config, epoch, step, total_steps);
  if (step >= config.warmup) return lr;
  return lr * static_cast<double>(step + 1) / static_cast<double>(config.warmup);
}

}  // namespace ddp
