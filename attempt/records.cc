#include "attempt/records.h"

#include <algorithm>

namespace ddp {

v1::AttemptEnded FailedWithoutRank(const std::string& message, int64_t step) {
  v1::AttemptEnded ended;
  ended.set_outcome(v1::ATTEMPT_OUTCOME_FAILED);
  ended.set_step(step);
  ended.set_saved_step(-1);
  v1::Failure& failure = *ended.mutable_failure();
  failure.set_rank(-1);
  failure.set_exit_code(-1);
  failure.set_message(message);
  failure.set_step(step);
  failure.set_retryable(true);
  return ended;
}

int64_t LastStep(const v1::MetricBatch& batch) {
  int64_t last = 0;
  for (const v1::MetricColumn& column : batch.columns()) {
    for (const int64_t step : column.step()) last = std::max(last, step);
  }
  return last;
}

}  // namespace ddp
