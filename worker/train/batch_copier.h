// Batches on their way to the device that trains.
#ifndef DDP_WORKER_TRAIN_BATCH_COPIER_H_
#define DDP_WORKER_TRAIN_BATCH_COPIER_H_

#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <optional>

#include "worker/models/model.h"

namespace ddp {

// To a GPU: out of page-locked memory and on a stream of its own, so that neither the host nor the kernels of the step
// before wait for the copy. To a CPU: nothing is done. The calls go through torch's device-neutral interface, so the
// same code is linked with and without CUDA. Begin and End may run in two threads.
class BatchCopier {
 public:
  explicit BatchCopier(at::Device device);

  struct Copy {
    Batch batch;
    std::optional<c10::Event> arrived;  // unset: it is already there
  };
  // Begins to copy a batch of the CPU.
  Copy Begin(Batch batch) const;
  // What the calling thread launches from here on waits on the device for the batch. Its memory is not used again
  // before the kernels that were launched until the batch is freed are done.
  Batch End(Copy copy) const;

 private:
  at::Device device_;
  std::optional<c10::Stream> stream_;  // unset: the device is the CPU
};

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_BATCH_COPIER_H_
