// Batches made ahead of their use.
#ifndef DDP_WORKER_TRAIN_PREFETCH_H_
#define DDP_WORKER_TRAIN_PREFETCH_H_

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "worker/models/model.h"
#include "worker/train/batch_copier.h"

namespace ddp {

// Calls `make` again and again, in a thread of its own when ahead > 0, begins to copy what it makes to the device, and
// keeps at most `ahead` results. What `make` throws is thrown by Next. The destructor waits for a call of `make` that
// is going on.
class Prefetcher {
 public:
  // Unset: no more.
  using Maker = std::function<std::optional<Batch>()>;
  Prefetcher(Maker make, int ahead, const BatchCopier& copier);
  ~Prefetcher();

  // On the device.
  std::optional<Batch> Next();

 private:
  std::optional<BatchCopier::Copy> MakeOne();
  std::optional<BatchCopier::Copy> Take();  // of the thread's
  void Loop();

  Maker make_;
  size_t ahead_;
  const BatchCopier& copier_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::optional<BatchCopier::Copy>> ready_;
  std::exception_ptr error_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_PREFETCH_H_
