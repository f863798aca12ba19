// Histograms of parameters and gradients.
#ifndef DDP_WORKER_TRAIN_WATCH_H_
#define DDP_WORKER_TRAIN_WATCH_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "worker/report/runner_link.h"

namespace ddp {

// Of all values of a float32 tensor on any device, each times `scale` > 0.
HistogramReport HistogramOf(std::string series, int64_t step, const at::Tensor& tensor, double scale);

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_WATCH_H_
