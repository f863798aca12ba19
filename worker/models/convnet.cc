// convnet: blocks of 3x3 convolutions with ReLU, each block ended by 2x2 max pooling (while the image is at least 2x2),
// an average to 7x7 where more is left, and a linear layer for the objective.
// Options: channels (of the blocks, default 32,64), layers (convolutions of a block, default 1), dropout (before the
// linear layer, default 0).
// Parameters: convs.I.weight [out, in, 3, 3], convs.I.bias [out], I over all convolutions; head.{weight,bias}, of
// denoising decoder.{weight,bias}.
#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/models/convolution.h"
#include "worker/models/dropout.h"
#include "worker/models/images.h"
#include "worker/models/options.h"
#include "worker/models/registry.h"

namespace ddp {

namespace {

// What a linear layer sees of an image, as in VGG: large images do not make it larger.
constexpr int64_t kGrid = 7;

class Convnet : public Model {
 public:
  Convnet(const ModelShape& shape, const std::vector<int64_t>& channels, int64_t layers, double dropout,
          const at::Generator& generator)
      : shape_(shape), dropout_(dropout) {
    int64_t in = shape.channels;
    int64_t height = shape.height;
    int64_t width = shape.width;
    for (const int64_t out : channels) {
      Block& block = blocks_.emplace_back();
      for (int64_t i = 0; i < layers; ++i) {
        const std::string prefix = absl::StrCat("convs.", convolutions_++, ".");
        const double bound = 1 / std::sqrt(static_cast<double>(in * 9));
        const size_t weight = Add(prefix + "weight", KernelInit(UniformInit({out, in, 3, 3}, bound, generator)));
        const size_t bias = Add(prefix + "bias", UniformInit({out}, bound, generator));
        block.convolutions.push_back({weight, bias});
        in = out;
      }
      block.pool = height >= 2 && width >= 2;
      if (block.pool) {
        height /= 2;
        width /= 2;
      }
    }
    grid_ = {std::min(height, kGrid), std::min(width, kGrid)};
    average_ = height > kGrid || width > kGrid;
    const int64_t features = in * grid_[0] * grid_[1];
    const std::string prefix = shape.objective == Objective::kDenoising ? "decoder." : "head.";
    const double bound = 1 / std::sqrt(static_cast<double>(features));
    head_.weight = Add(prefix + "weight", UniformInit({OutputWidth(shape), features}, bound, generator));
    head_.bias = Add(prefix + "bias", UniformInit({OutputWidth(shape)}, bound, generator));
  }

  LossSums Loss(const Batch& batch, bool training) override {
    return OutputSums(shape_.objective, Forward(batch, training ? dropout_ : 0.0), batch);
  }

  at::Tensor Logits(const Batch& batch) override { return Forward(batch, 0); }

  std::vector<std::string> TaskPrefixes() const override { return {"decoder.", "head."}; }

 private:
  struct Block {
    std::vector<Linear> convolutions;
    bool pool = false;
  };

  at::Tensor Forward(const Batch& batch, double dropout) const {
    at::Tensor x = AsImages(batch.features, shape_);
    for (const Block& block : blocks_) {
      for (const Linear& c : block.convolutions) {
        x = Convolve(x, parameter(c.weight), parameter(c.bias), 1);
        // Before or after ReLU, the maximum is the same, and so are the gradients; after the pooling a quarter is left.
        if (block.pool && &c == &block.convolutions.back()) x = at::max_pool2d(x, {2, 2});
        x = x.relu_();
      }
    }
    if (average_) x = at::adaptive_avg_pool2d(x, grid_);
    return at::linear(Dropout(x.flatten(1), dropout), parameter(head_.weight), parameter(head_.bias));
  }

  ModelShape shape_;
  double dropout_;
  int64_t convolutions_ = 0;
  std::vector<Block> blocks_;
  std::vector<int64_t> grid_;
  bool average_ = false;
  Linear head_;
};

}  // namespace

ModelResult MakeConvnet(const ModelOptions& options, const ModelShape& shape, const at::Generator& generator) {
  OptionReader reader(options);
  const std::vector<int64_t> channels = reader.Integers("channels", {32, 64}, 1, 4096);
  const int64_t layers = reader.Integer("layers", 1, 1, 16);
  const double dropout = reader.Number("dropout", 0, 0, 1);
  if (!reader.status().ok()) return reader.status();
  DDP_RETURN_IF_ERROR(RequireImages("convnet", shape));
  return std::make_unique<Convnet>(shape, channels, layers, dropout, generator);
}

}  // namespace ddp
