// resnet18: torchvision's, with its parameter and buffer names (conv1.weight, bn1.weight, layer1.0.conv1.weight, ...,
// fc.weight), so that its state_dict loads; denoising: decoder.{weight,bias} instead of fc.
// Options: stem, of imagenet (7x7 convolution with stride 2, then 3x3 max pooling with stride 2) and small (3x3
// convolution with stride 1, no pooling); default: small for images of up to 64x64.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/models/convolution.h"
#include "worker/models/images.h"
#include "worker/models/options.h"
#include "worker/models/registry.h"

namespace ddp {

namespace {

constexpr int64_t kSmallImage = 64;
constexpr int64_t kWidths[] = {64, 128, 256, 512};
constexpr int64_t kBlocks = 2;  // of each width
constexpr double kMomentum = 0.1;
constexpr double kEps = 1e-5;

class Resnet18 : public Model {
 public:
  Resnet18(const ModelShape& shape, bool small_stem, const at::Generator& generator)
      : shape_(shape), small_stem_(small_stem) {
    const auto conv = [&](const std::string& name, int64_t in, int64_t out, int64_t kernel) {
      // nn.init.kaiming_normal_(mode="fan_out", nonlinearity="relu")
      const double std = std::sqrt(2 / static_cast<double>(out * kernel * kernel));
      return Add(name + ".weight", KernelInit(NormalInit({out, in, kernel, kernel}, std, generator)));
    };
    const auto norm = [&](const std::string& name, int64_t n) {
      BatchNorm result;
      result.weight = Add(name + ".weight", at::ones({n}));
      result.bias = Add(name + ".bias", at::zeros({n}));
      result.mean = AddBuffer(name + ".running_mean", at::zeros({n}));
      result.variance = AddBuffer(name + ".running_var", at::ones({n}));
      return result;
    };
    stem_ = conv("conv1", shape.channels, kWidths[0], small_stem ? 3 : 7);
    stem_norm_ = norm("bn1", kWidths[0]);
    int64_t in = kWidths[0];
    for (size_t stage = 0; stage < std::size(kWidths); ++stage) {
      const int64_t out = kWidths[stage];
      for (int64_t i = 0; i < kBlocks; ++i) {
        const std::string prefix = absl::StrCat("layer", stage + 1, ".", i, ".");
        Block& block = blocks_.emplace_back();
        block.stride = stage > 0 && i == 0 ? 2 : 1;
        block.conv1 = conv(prefix + "conv1", in, out, 3);
        block.norm1 = norm(prefix + "bn1", out);
        block.conv2 = conv(prefix + "conv2", out, out, 3);
        block.norm2 = norm(prefix + "bn2", out);
        block.projects = block.stride != 1;
        if (block.projects) {
          block.projection = conv(prefix + "downsample.0", in, out, 1);
          block.projection_norm = norm(prefix + "downsample.1", out);
        }
        in = out;
      }
    }
    const std::string prefix = shape.objective == Objective::kDenoising ? "decoder." : "fc.";
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    head_.weight = Add(prefix + "weight", UniformInit({OutputWidth(shape), in}, bound, generator));
    head_.bias = Add(prefix + "bias", UniformInit({OutputWidth(shape)}, bound, generator));
  }

  LossSums Loss(const Batch& batch, bool training) override {
    return OutputSums(shape_.objective, Forward(batch, training), batch);
  }

  at::Tensor Logits(const Batch& batch) override { return Forward(batch, false); }

  std::vector<std::string> TaskPrefixes() const override { return {"decoder.", "fc."}; }

  std::string NameOf(const std::string& name_in_file) const override {
    // Used only where the momentum is None.
    return absl::EndsWith(name_in_file, ".num_batches_tracked") ? "" : name_in_file;
  }

 private:
  struct BatchNorm {
    size_t weight = 0, bias = 0;    // parameters
    size_t mean = 0, variance = 0;  // buffers
  };
  struct Block {
    int64_t stride = 1;
    size_t conv1 = 0, conv2 = 0;
    BatchNorm norm1, norm2;
    bool projects = false;
    size_t projection = 0;
    BatchNorm projection_norm;
  };

  // Training normalises by the micro-batch and moves the running statistics; one value a channel has no variance, and
  // takes the running ones as evaluation does.
  at::Tensor Normalise(const at::Tensor& x, const BatchNorm& norm, bool training) const {
    const bool by_batch = training && x.size(0) * x.size(2) * x.size(3) > 1;
    return at::batch_norm(x, parameter(norm.weight), parameter(norm.bias), buffer(norm.mean), buffer(norm.variance),
                          by_batch, kMomentum, kEps, /*cudnn_enabled=*/true);
  }

  at::Tensor BlockForward(const Block& block, const at::Tensor& x, bool training) const {
    at::Tensor y = Normalise(Convolve(x, parameter(block.conv1), {}, block.stride), block.norm1, training).relu_();
    y = Normalise(Convolve(y, parameter(block.conv2), {}, 1), block.norm2, training);
    if (!block.projects) return (y + x).relu_();
    return (y + Normalise(Convolve(x, parameter(block.projection), {}, block.stride), block.projection_norm, training))
        .relu_();
  }

  at::Tensor Forward(const Batch& batch, bool training) const {
    at::Tensor x = Convolve(AsImages(batch.features, shape_), parameter(stem_), {}, small_stem_ ? 1 : 2);
    x = Normalise(x, stem_norm_, training).relu_();
    if (!small_stem_) x = at::max_pool2d(x, {3, 3}, {2, 2}, {1, 1});
    for (const Block& block : blocks_) x = BlockForward(block, x, training);
    return at::linear(x.mean({2, 3}), parameter(head_.weight), parameter(head_.bias));
  }

  ModelShape shape_;
  bool small_stem_;
  size_t stem_ = 0;
  BatchNorm stem_norm_;
  std::vector<Block> blocks_;
  Linear head_;
};

}  // namespace

ModelResult MakeResnet18(const ModelOptions& options, const ModelShape& shape, const at::Generator& generator) {
  OptionReader reader(options);
  const bool small_image = shape.height <= kSmallImage && shape.width <= kSmallImage;
  const std::string stem = reader.Choice("stem", small_image ? "small" : "imagenet", {"imagenet", "small"});
  if (!reader.status().ok()) return reader.status();
  DDP_RETURN_IF_ERROR(RequireImages("resnet18", shape));
  return std::make_unique<Resnet18>(shape, stem == "small", generator);
}

}  // namespace ddp
