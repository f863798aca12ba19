// Tiny models whose losses are known exactly, for tests (notes/cases.md: R-zero, R-index, R-sgd and cases A8, A10).
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <unistd.h>

#include <random>

#include "worker/models/options.h"
#include "worker/models/registry.h"

namespace ddp {

namespace {

// Logits = x W^T + b. All zero: cross entropy is ln C and the first class always wins.
class LinearRig : public Model {
 public:
  LinearRig(at::Tensor weight, at::Tensor bias)
      : layer_{Add("weight", std::move(weight)), Add("bias", std::move(bias))} {}

  LossSums Loss(const Batch& batch, bool) override {
    return ClassificationSums(at::linear(batch.features, parameter(layer_.weight), parameter(layer_.bias)),
                              batch.classes);
  }

 private:
  Linear layer_;
};

// prediction = w * x with w = 0 at first: with x = 1 and target sqrt(i) the loss of sample i is i.
class ScaleRig : public Model {
 public:
  explicit ScaleRig(double drift) : drift_(drift) { Add("w", at::zeros({1}, at::kFloat)); }

  LossSums Loss(const Batch& batch, bool training) override {
    LossSums sums = RegressionSums(batch.features.select(1, 0) * parameter(0), batch.numbers);
    if (training && drift_ != 0) parameter(0).detach().add_(drift_);
    return sums;
  }

 private:
  double drift_;
};

ModelResult Checked(const ModelOptions& options, std::unique_ptr<Model> model) {
  OptionReader reader(options);
  if (!reader.status().ok()) return reader.status();
  return model;
}

}  // namespace

ModelResult MakeRigZero(const ModelOptions& options, const ModelShape& shape, const at::Generator&) {
  return Checked(options, std::make_unique<LinearRig>(at::zeros({shape.classes, shape.features}, at::kFloat),
                                                      at::zeros({shape.classes}, at::kFloat)));
}

ModelResult MakeRigIndex(const ModelOptions& options, const ModelShape&, const at::Generator&) {
  return Checked(options, std::make_unique<ScaleRig>(0));
}

// Every process draws other initial weights: only rank 0's may survive the start.
ModelResult MakeRigSeed(const ModelOptions& options, const ModelShape& shape, const at::Generator& generator) {
  at::Generator own = generator.clone();
  own.set_current_seed(std::random_device{}());
  return Checked(options, std::make_unique<LinearRig>(NormalInit({shape.classes, shape.features}, 1, own),
                                                      NormalInit({shape.classes}, 1, own)));
}

// Every process moves its weight by an amount of its own: the ranks drift apart.
ModelResult MakeRigDrift(const ModelOptions& options, const ModelShape&, const at::Generator&) {
  return Checked(options, std::make_unique<ScaleRig>(1e-3 * getpid()));
}

}  // namespace ddp
