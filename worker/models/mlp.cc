// mlp: linear layers with ReLU between. Options: hidden (widths, default 256,256), dropout (default 0).
// Parameters: layers.I.weight [out, in], layers.I.bias [out]; denoising: the last one is decoder.{weight,bias}.
#include <ATen/Functions.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "worker/models/dropout.h"
#include "worker/models/options.h"
#include "worker/models/registry.h"

namespace ddp {

namespace {

class Mlp : public Model {
 public:
  Mlp(const ModelShape& shape, const std::vector<int64_t>& hidden, double dropout, const at::Generator& generator)
      : objective_(shape.objective), dropout_(dropout), last_(absl::StrCat("layers.", hidden.size(), ".")) {
    std::vector<int64_t> widths{shape.features};
    widths.insert(widths.end(), hidden.begin(), hidden.end());
    widths.push_back(OutputWidth(shape));
    for (size_t i = 0; i + 1 < widths.size(); ++i) {
      const bool decoder = i == hidden.size() && objective_ == Objective::kDenoising;
      const std::string prefix = decoder ? "decoder." : absl::StrCat("layers.", i, ".");
      const double bound = 1 / std::sqrt(static_cast<double>(widths[i]));
      const size_t weight = Add(prefix + "weight", UniformInit({widths[i + 1], widths[i]}, bound, generator));
      const size_t bias = Add(prefix + "bias", UniformInit({widths[i + 1]}, bound, generator));
      layers_.push_back({weight, bias});
    }
  }

  LossSums Loss(const Batch& batch, bool training) override {
    return OutputSums(objective_, Forward(batch.features, training ? dropout_ : 0.0), batch);
  }

  at::Tensor Logits(const Batch& batch) override { return Forward(batch.features, 0); }

  std::vector<std::string> TaskPrefixes() const override { return {"decoder.", last_}; }

 private:
  at::Tensor Forward(at::Tensor x, double dropout) const {
    for (size_t i = 0; i < layers_.size(); ++i) {
      x = at::linear(x, parameter(layers_[i].weight), parameter(layers_[i].bias));
      if (i + 1 < layers_.size()) x = ReluDropout(x, dropout);
    }
    return x;
  }

  Objective objective_;
  double dropout_;
  std::string last_;
  std::vector<Linear> layers_;
};

}  // namespace

ModelResult MakeMlp(const ModelOptions& options, const ModelShape& shape, const at::Generator& generator) {
  OptionReader reader(options);
  const std::vector<int64_t> hidden = reader.Integers("hidden", {256, 256}, 1, 65536);
  const double dropout = reader.Number("dropout", 0, 0, 1);
  if (!reader.status().ok()) return reader.status();
  return std::make_unique<Mlp>(shape, hidden, dropout, generator);
}

}  // namespace ddp
