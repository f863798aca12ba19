// How training ends badly.
#ifndef DDP_WORKER_TRAIN_ERRORS_H_
#define DDP_WORKER_TRAIN_ERRORS_H_

#include <stdexcept>

namespace ddp {

// A fault that another attempt would meet again: wrong data, wrong shapes, a non-finite loss.
struct NoRetryError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_ERRORS_H_
