// Sums gradients over ranks while backward runs.
#ifndef DDP_WORKER_DIST_GRADIENT_REDUCER_H_
#define DDP_WORKER_DIST_GRADIENT_REDUCER_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "worker/dist/group.h"

namespace c10d {
class Reducer;
}

namespace ddp {

// c10d::Reducer, the engine of Python's DistributedDataParallel, with a hook that only sums: the division by the global
// count of samples (or tokens) happens in the optimizer. Buckets are fixed at the start and never rebuilt, since
// another layout would change bits on resume. Gradients are views into the buckets: zero them in place with
// ZeroGradients, never drop them. With one rank it does nothing.
class GradientReducer {
 public:
  // Parameters in the order of the model, all requiring gradients, none twice. The group, which is told how long the
  // sums take (Group::TakeSumTime), must outlive it.
  GradientReducer(const std::vector<std::pair<std::string, at::Tensor>>& parameters, Group& group);
  ~GradientReducer();

  // Before the forward pass of the last micro-batch of a step.
  void BeforeForward();
  // Between that forward pass and its backward pass; earlier micro-batches without this call only accumulate.
  void BeforeBackward();

 private:
  std::shared_ptr<c10d::Reducer> reducer_;
};

// Gives every parameter that requires a gradient one of zeros, so that the first backward pass adds to it as all later
// ones do.
void MakeGradients(const std::vector<at::Tensor>& parameters);
void ZeroGradients(const std::vector<at::Tensor>& parameters);

}  // namespace ddp

#endif  // DDP_WORKER_DIST_GRADIENT_REDUCER_H_
