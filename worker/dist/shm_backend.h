// A c10d::Backend for CPU tensors on the ranks of one node, over shared memory.
#ifndef DDP_WORKER_DIST_SHM_BACKEND_H_
#define DDP_WORKER_DIST_SHM_BACKEND_H_

#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "worker/dist/shm_channel.h"

namespace ddp {

// Collectives complete before they return (the copy is the work), so every Work is done at birth. Sum is the only
// reduction; tensors must be contiguous float, double or int64. Anything else throws c10::Error that says so.
// Thread-safety as ShmChannel: with c10d::Reducer all calls come from the thread that runs backward.
class ShmBackend : public c10d::Backend {
 public:
  explicit ShmBackend(std::shared_ptr<ShmChannel> channel);

  const std::string getBackendName() const override { return "shm"; }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override;
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override;
  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                           std::vector<at::Tensor>& inputs,
                                           const c10d::AllgatherOptions& options) override;
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions& options) override;

 private:
  std::shared_ptr<ShmChannel> channel_;
};

}  // namespace ddp

#endif  // DDP_WORKER_DIST_SHM_BACKEND_H_
