// Small functions on what runners report, for both ends.
#ifndef DDP_ATTEMPT_RECORDS_H_
#define DDP_ATTEMPT_RECORDS_H_

#include <cstdint>
#include <string>

#include "ddp/v1/metric.pb.h"
#include "ddp/v1/runner.pb.h"

namespace ddp {

// An attempt that failed through no rank's fault and may be tried again. step: the last one that was finished.
v1::AttemptEnded FailedWithoutRank(const std::string& message, int64_t step);

// The newest step of a batch; 0: it has no points.
int64_t LastStep(const v1::MetricBatch& batch);

}  // namespace ddp

#endif  // DDP_ATTEMPT_RECORDS_H_
