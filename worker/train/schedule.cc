#include "worker/train/schedule.h"

#include <cmath>

namespace ddp {

double LearningRate(const TrainingConfig& config, int64_t epoch) {
  if (config.schedule == ScheduleKind::kConstant) return config.lr;
  return config.lr * std::pow(config.gamma, static_cast<double>(epoch / config.step_size));
}

}  // namespace ddp
