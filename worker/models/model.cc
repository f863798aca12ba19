#include "worker/models/model.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>

namespace ddp {

std::vector<at::Tensor> Model::tensors() const {
  std::vector<at::Tensor> all;
  all.reserve(parameters_.size());
  for (const auto& [name, tensor] : parameters_) all.push_back(tensor);
  return all;
}

std::vector<std::pair<std::string, at::Tensor>> Model::state() const {
  auto all = parameters_;
  all.insert(all.end(), buffers_.begin(), buffers_.end());
  return all;
}

std::vector<std::string> Model::parameter_names() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : parameters_) names.push_back(name);
  return names;
}

int64_t Model::parameter_count() const {
  int64_t n = 0;
  for (const auto& [name, tensor] : parameters_) n += tensor.numel();
  return n;
}

void Model::MoveTo(at::Device device) {
  for (auto& [name, tensor] : parameters_) {
    if (tensor.device() == device) continue;
    tensor = tensor.detach().to(device).set_requires_grad(tensor.requires_grad());
  }
  for (auto& [name, tensor] : buffers_) tensor = tensor.to(device);
}

size_t Model::Add(std::string name, at::Tensor values) {
  parameters_.emplace_back(std::move(name), values.set_requires_grad(true));
  return parameters_.size() - 1;
}

size_t Model::AddBuffer(std::string name, at::Tensor values) {
  buffers_.emplace_back(std::move(name), std::move(values));
  return buffers_.size() - 1;
}

namespace {

// Of an outline (outline.h), which has no generator.
at::Tensor ShapeOnly(at::IntArrayRef shape) {
  return at::empty(shape, at::TensorOptions(at::kFloat).device(at::kMeta));
}

}  // namespace

at::Tensor UniformInit(at::IntArrayRef shape, double bound, const at::Generator& generator) {
  if (!generator.defined()) return ShapeOnly(shape);
  return at::empty(shape, at::kFloat).uniform_(-bound, bound, generator);
}

at::Tensor NormalInit(at::IntArrayRef shape, double std, const at::Generator& generator) {
  if (!generator.defined()) return ShapeOnly(shape);
  return at::empty(shape, at::kFloat).normal_(0, std, generator);
}

LossSums ClassificationSums(const at::Tensor& logits, const at::Tensor& labels) {
  return {.loss = at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum),
          .correct = logits.detach().argmax(1).eq(labels).sum(),
          .count = labels.size(0)};
}

LossSums RegressionSums(const at::Tensor& predictions, const at::Tensor& targets) {
  return {.loss = at::mse_loss(predictions, targets, at::Reduction::Sum), .count = targets.size(0)};
}

LossSums DenoisingSums(const at::Tensor& predictions, const at::Tensor& clean) {
  return {.loss = at::mse_loss(predictions, clean, at::Reduction::Sum) / clean.size(1), .count = clean.size(0)};
}

int64_t OutputWidth(const ModelShape& shape) {
  if (shape.objective == Objective::kRegression) return 1;
  return shape.objective == Objective::kDenoising ? shape.features : shape.classes;
}

LossSums OutputSums(Objective objective, const at::Tensor& output, const Batch& batch) {
  if (objective == Objective::kRegression) return RegressionSums(output.squeeze(1), batch.numbers);
  if (objective == Objective::kDenoising) return DenoisingSums(output, batch.clean);
  return ClassificationSums(output, batch.classes);
}

}  // namespace ddp
