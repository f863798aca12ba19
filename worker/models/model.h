// What the trainer needs of a model.
#ifndef DDP_WORKER_MODELS_MODEL_H_
#define DDP_WORKER_MODELS_MODEL_H_

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "worker/config.h"

namespace ddp {

// One micro-batch of n samples, on the model's device. Text models read tokens, others features.
struct Batch {
  int64_t size = 0;
  at::Tensor tokens;      // int64 [n, len], 0 = padding; hidden tokens already replaced for the token objectives
  at::Tensor mask;        // bool [n, len], true = token; undefined: no padding in this batch
  at::Tensor predict_at;  // token objectives: int64 [m], the flat positions (i * len + j) that predict a token
  at::Tensor targets;     // int64 [m], the tokens to predict: what was hidden there, for clm what comes after
  at::Tensor features;    // float [n, d]; images in the order channel, row, column; noisy when denoising
  at::Tensor clean;       // denoising: float [n, d]
  at::Tensor classes;     // int64 [n]
  at::Tensor numbers;     // float [n]
};

// Sums over what was counted: samples, or hidden tokens.
struct LossSums {
  at::Tensor loss;     // float scalar, differentiable
  at::Tensor correct;  // int64 scalar; undefined: the objective has no accuracy
  int64_t count = 0;
};

// Shapes that come from the data.
struct ModelShape {
  Objective objective = Objective::kClassification;
  int64_t vocab = 0;
  int64_t max_tokens = 0;
  int64_t features = 0;
  int64_t classes = 0;
  // Images: channels, height, width, whose product is `features`; 0: the features are no images.
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
};

// Not thread-safe.
class Model {
 public:
  virtual ~Model() = default;

  // training: dropout on. Draws from the default generator of the device only when training.
  virtual LossSums Loss(const Batch& batch, bool training) = 0;
  // Extra values worth a series at each end of an epoch, for example emb_std.
  virtual std::map<std::string, double> Diagnostics() const { return {}; }
  // Prefixes of parameters that belong to one objective only ("head."): when weights come from a job with another
  // objective, these start fresh.
  virtual std::vector<std::string> TaskPrefixes() const { return {}; }
  // Our name for a tensor of a weights file that another program wrote: the name itself, another one where programs
  // differ, or "" for a tensor that is known and not needed. Two tensors with one name (tied weights) must be equal.
  virtual std::string NameOf(const std::string& name_in_file) const { return name_in_file; }

  // A forward pass without a loss or dropout, to look at: logits [n, classes], [n, len, vocab] of a language model, or
  // [m, vocab] of hidden tokens; of other objectives the output of the last layer. Unimplemented: not defined.
  virtual at::Tensor Logits(const Batch&) { return {}; }

  // In a fixed order; leaves that require gradients (unless frozen).
  const std::vector<std::pair<std::string, at::Tensor>>& parameters() const { return parameters_; }
  // Values that training changes without gradients (running statistics of batch norm), float32, in a fixed order. After
  // each step they are averaged over the ranks; checkpoints hold them beside the parameters.
  const std::vector<std::pair<std::string, at::Tensor>>& buffers() const { return buffers_; }
  std::vector<at::Tensor> tensors() const;  // of the parameters
  // Parameters, then buffers: what a checkpoint holds and what ranks must agree on.
  std::vector<std::pair<std::string, at::Tensor>> state() const;
  at::Device device() const { return parameters_.front().second.device(); }
  std::vector<std::string> parameter_names() const;
  int64_t parameter_count() const;
  void MoveTo(at::Device device);

 protected:
  // Registers a leaf; returns its index for parameter(i). The values are the initial ones.
  size_t Add(std::string name, at::Tensor values);
  const at::Tensor& parameter(size_t index) const { return parameters_[index].second; }
  size_t AddBuffer(std::string name, at::Tensor values);
  const at::Tensor& buffer(size_t index) const { return buffers_[index].second; }

 private:
  std::vector<std::pair<std::string, at::Tensor>> buffers_;
  std::vector<std::pair<std::string, at::Tensor>> parameters_;
};

// Initial values, as PyTorch's layers draw them.
at::Tensor UniformInit(at::IntArrayRef shape, double bound, const at::Generator& generator);
at::Tensor NormalInit(at::IntArrayRef shape, double std, const at::Generator& generator);

// A linear layer with the initial values of nn.Linear.
struct Linear {
  size_t weight = 0;
  size_t bias = 0;
};

// Cross entropy (sum) and the number of samples whose largest logit (the first of equals) is the label.
LossSums ClassificationSums(const at::Tensor& logits, const at::Tensor& labels);
// Squared error, summed.
LossSums RegressionSums(const at::Tensor& predictions, const at::Tensor& targets);
// Squared error: of each sample the mean over its features, summed over the samples.
LossSums DenoisingSums(const at::Tensor& predictions, const at::Tensor& clean);

// For models with one output [n, OutputWidth] for classification (logits), regression (a number) or denoising (the
// clean features).
int64_t OutputWidth(const ModelShape& shape);
LossSums OutputSums(Objective objective, const at::Tensor& output, const Batch& batch);

}  // namespace ddp

#endif  // DDP_WORKER_MODELS_MODEL_H_
