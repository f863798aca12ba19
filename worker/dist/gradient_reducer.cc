#include "worker/dist/gradient_reducer.h"

#include <ATen/ops/_foreach_zero.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <chrono>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <unordered_map>

namespace ddp {

namespace {
// PyTorch's own defaults: a small first bucket lets communication start early.
constexpr int64_t kFirstBucketBytes = int64_t{1} << 20;
constexpr int64_t kBucketBytes = int64_t{25} << 20;

// Sums a bucket over the ranks. (PyTorch's _AllReduceBySumCommHook does the same, but its symbols are not exported.)
class SumHook final : public c10d::CommHookInterface {
 public:
  explicit SumHook(Group& group) : group_(group) {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    waits_since_ = std::chrono::steady_clock::now();
    std::vector<at::Tensor> tensors{bucket.getBufferRef()};
    auto future = group_.process_group()->allreduce(tensors)->getFuture();
    CountWait();
    return future;
  }
  // The reducer asks for the results one after the other when backward is done with the last bucket: in between it
  // only waits for sums that go on meanwhile.
  at::Tensor parseHookResult(const c10::IValue& result) override {
    CountWait();
    return result.isTensor() ? result.toTensor() : result.toTensorVector().at(0);
  }

 private:
  void CountWait() {
    const auto now = std::chrono::steady_clock::now();
    group_.AddSumTime(now - waits_since_);
    waits_since_ = now;
  }

  Group& group_;
  std::chrono::steady_clock::time_point waits_since_;
};

}  // namespace

GradientReducer::GradientReducer(const std::vector<std::pair<std::string, at::Tensor>>& parameters, Group& group) {
  if (group.world_size() == 1) return;
  std::vector<at::Tensor> tensors;
  std::unordered_map<size_t, std::string> names;
  for (const auto& [name, tensor] : parameters) {
    if (!tensor.requires_grad()) continue;
    names[tensors.size()] = name;
    tensors.push_back(tensor);
  }
  const std::vector<bool> sparse(tensors.size(), false);
  auto [buckets, limits] = c10d::compute_bucket_assignment_by_size(
      tensors, {static_cast<size_t>(kFirstBucketBytes), static_cast<size_t>(kBucketBytes)}, sparse);
  // Backward reaches the last parameters first.
  std::reverse(buckets.begin(), buckets.end());
  reducer_ = std::make_shared<c10d::Reducer>(
      tensors, buckets, group.process_group(), sparse, kBucketBytes, /*find_unused_parameters=*/false,
      /*gradient_as_bucket_view=*/true, names, kFirstBucketBytes, /*skip_all_reduce_unused_params=*/false,
      /*use_python_reducer=*/false, std::vector<int64_t>{});
  reducer_->register_comm_hook(std::make_unique<SumHook>(group));
}

GradientReducer::~GradientReducer() = default;

void GradientReducer::BeforeForward() {
  if (reducer_) reducer_->prepare_for_forward();
}

void GradientReducer::BeforeBackward() {
  if (reducer_) reducer_->prepare_for_backward({});
}

void MakeGradients(const std::vector<at::Tensor>& parameters) {
  for (const at::Tensor& p : parameters) {
    if (p.requires_grad() && !p.grad().defined()) p.mutable_grad() = at::zeros_like(p);
  }
}

void ZeroGradients(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> gradients;
  gradients.reserve(parameters.size());
  for (const at::Tensor& p : parameters) {
    if (p.grad().defined()) gradients.push_back(p.grad());
  }
  if (!gradients.empty()) at::_foreach_zero_(gradients);
}

}  // namespace ddp
