#include "worker/dist/gradient_reducer.h"

#include <ATen/ops/_foreach_zero.h>

#include <algorithm>
#include <torch/csrc/distributed/c10d/default_comm_hooks.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <unordered_map>

namespace ddp {

namespace {
// PyTorch's own defaults: a small first bucket lets communication start early.
constexpr int64_t kFirstBucketBytes = int64_t{1} << 20;
constexpr int64_t kBucketBytes = int64_t{25} << 20;
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
  reducer_->register_comm_hook(std::make_unique<c10d::_AllReduceBySumCommHook>(group.process_group()));
}

GradientReducer::~GradientReducer() = default;

void GradientReducer::BeforeForward() {
  if (reducer_) reducer_->prepare_for_forward();
}

void GradientReducer::BeforeBackward() {
  if (reducer_) reducer_->prepare_for_backward({});
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
