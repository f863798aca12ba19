// The ranks of one attempt as one group.
#ifndef DDP_WORKER_DIST_GROUP_H_
#define DDP_WORKER_DIST_GROUP_H_

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>
#include <vector>

#include "worker/config.h"
#include "worker/dist/shm_channel.h"

namespace ddp {

// Collectives of the training thread. Not thread-safe. All ranks make the same calls in the same order. Every call may
// throw PeerLostError when another rank is gone.
class Group {
 public:
  // Meets the other ranks over the store of this attempt (rank 0 hosts it on config.store_fd) and makes the process
  // group that config.backend names. Throws.
  static std::unique_ptr<Group> Join(const WorkerConfig& config);
  ~Group();

  int rank() const { return rank_; }
  int world_size() const { return world_size_; }
  // For c10d::Reducer.
  const c10::intrusive_ptr<c10d::ProcessGroup>& process_group() const { return process_group_; }

  // values[i] = sum over ranks, in double.
  void Sum(std::span<double> values);
  // The same for a double tensor on the ranks' device; on a GPU the host does not wait.
  void SumOnDevice(const at::Tensor& values);
  // On every rank: does any rank say so?
  bool Any(bool mine);
  // Every rank gets rank 0's text, for decisions that must be taken once. Goes over the store: not for every step.
  std::string FromRank0(const std::string& name, const std::string& text);
  // Every tensor becomes rank 0's.
  void BroadcastFromRank0(const std::vector<std::pair<std::string, at::Tensor>>& tensors);
  // Every float32 tensor becomes its mean over the ranks.
  void Average(const std::vector<std::pair<std::string, at::Tensor>>& tensors);
  // One value of each rank, by rank.
  std::vector<uint64_t> Gather(uint64_t value);
  void Barrier();

  // How long this rank has been in sums over the ranks since the last call: waiting for slower ranks, too. On a GPU the
  // host only launches most of them.
  std::chrono::nanoseconds TakeSumTime() { return std::exchange(sum_time_, std::chrono::nanoseconds::zero()); }
  // Of sums that go past this class.
  void AddSumTime(std::chrono::nanoseconds time) { sum_time_ += time; }

 private:
  Group() = default;

  int rank_ = 0;
  int world_size_ = 1;
  at::Device device_ = at::kCPU;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::ProcessGroup> process_group_;
  std::chrono::nanoseconds sum_time_{};
  std::shared_ptr<ShmChannel> channel_;  // the quick way for small sums, when there is one
};

// Backends, each made over the attempt's store.
struct BackendParts {
  c10::intrusive_ptr<c10d::Backend> backend;
  c10d::ProcessGroup::BackendType type = c10d::ProcessGroup::BackendType::UNDEFINED;
};
BackendParts MakeGlooBackend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int world_size);
// In builds without CUDA: throws.
BackendParts MakeNcclBackend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int world_size);

// True when an exception of a collective says that another rank is gone rather than that this one is wrong.
bool IsPeerLoss(const std::exception& e);

}  // namespace ddp

#endif  // DDP_WORKER_DIST_GROUP_H_
