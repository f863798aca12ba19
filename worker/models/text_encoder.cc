// text-encoder: token and position embedding, Transformer encoder (pre-norm, ReLU), and a part for the objective:
//   mlm             logits = h E^T + bias over the vocabulary, E the token embedding (tied)   mlm.bias [vocab]
//   embedding       projection of h against the layer-normed, detached embedding of the token
//   embedding_head.{weight,bias} classification  mean of h over the tokens, then a linear layer head.{weight,bias}
// Options: dim (128), layers (2), heads (4), ffn (4 dim), dropout (0.1).
// Parameters: embedding.weight, position.weight, encoder.layers.I.*, encoder.norm.*: those of nn.Embedding and
// nn.TransformerEncoder in Python.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "worker/models/chunked_cross_entropy.h"
#include "worker/models/dropout.h"
#include "worker/models/options.h"
#include "worker/models/registry.h"
#include "worker/models/token_embedding.h"
#include "worker/models/transformer.h"

namespace ddp {

namespace {

// PyTorch's 1.0 makes the tied logits far too large at the start; 0.05 is worth 0.456 -> 0.599 accuracy (DESIGN 5).
constexpr double kEmbeddingStd = 0.05;
constexpr double kPositionStd = 0.02;

class TextEncoder : public Model {
 public:
  TextEncoder(const ModelShape& shape, const TransformerShape& transformer, int64_t layers,
              const at::Generator& generator)
      : objective_(shape.objective), transformer_(transformer) {
    const int64_t d = transformer.dim;
    embedding_ = Add("embedding.weight", NormalInit({shape.vocab, d}, kEmbeddingStd, generator));
    position_ = Add("position.weight", NormalInit({shape.max_tokens, d}, kPositionStd, generator));
    first_layer_ = parameters().size();
    for (int64_t i = 0; i < layers; ++i) AddLayer(absl::StrCat("encoder.layers.", i, "."), generator);
    norm_weight_ = Add("encoder.norm.weight", at::ones({d}));
    norm_bias_ = Add("encoder.norm.bias", at::zeros({d}));
    const double bound = 1 / std::sqrt(static_cast<double>(d));
    switch (objective_) {
      case Objective::kMlm:
        head_ = {0, Add("mlm.bias", at::zeros({shape.vocab}))};
        break;
      case Objective::kEmbedding:
        head_ = {Add("embedding_head.weight", UniformInit({d, d}, bound, generator)),
                 Add("embedding_head.bias", UniformInit({d}, bound, generator))};
        break;
      default:
        head_ = {Add("head.weight", UniformInit({shape.classes, d}, bound, generator)),
                 Add("head.bias", UniformInit({shape.classes}, bound, generator))};
    }
    layers_ = static_cast<size_t>(layers);
  }

  LossSums Loss(const Batch& batch, bool training) override {
    const at::Tensor h = Encode(batch, training);
    if (objective_ == Objective::kClassification) return ClassificationSums(Classify(h, batch), batch.classes);
    const at::Tensor at_hidden = h.index_select(0, batch.predict_at);
    if (objective_ == Objective::kMlm) {
      return ChunkedCrossEntropy(at_hidden, parameter(embedding_), parameter(head_.bias), batch.targets);
    }
    const at::Tensor prediction = at::linear(at_hidden, parameter(head_.weight), parameter(head_.bias));
    const at::Tensor target =
        at::layer_norm(at::embedding(parameter(embedding_).detach(), batch.targets), {transformer_.dim});
    return {.loss = at::mse_loss(prediction, target, at::Reduction::Sum) / transformer_.dim,
            .count = batch.targets.size(0)};
  }

  at::Tensor Logits(const Batch& batch) override {
    if (objective_ == Objective::kEmbedding) return {};
    const at::Tensor h = Encode(batch, /*training=*/false);
    if (objective_ == Objective::kClassification) return Classify(h, batch);
    return at::linear(h.index_select(0, batch.predict_at), parameter(embedding_), parameter(head_.bias));
  }

  std::map<std::string, double> Diagnostics() const override {
    if (objective_ != Objective::kEmbedding) return {};
    // Spread of the tokens' embeddings around their mean: near 0 when they have collapsed into one.
    return {{"emb_std", parameter(embedding_).detach().std(0, false).mean().item<double>()}};
  }

  std::vector<std::string> TaskPrefixes() const override { return {"mlm.", "embedding_head.", "head."}; }

 private:
  void AddLayer(const std::string& prefix, const at::Generator& generator) {
    const int64_t d = transformer_.dim;
    const int64_t f = transformer_.ffn;
    auto bound = [](int64_t fan_in) { return 1 / std::sqrt(static_cast<double>(fan_in)); };
    // nn.MultiheadAttention: Xavier for the joint projection, zero biases.
    Add(prefix + "self_attn.in_proj_weight",
        UniformInit({3 * d, d}, std::sqrt(6.0 / static_cast<double>(4 * d)), generator));
    Add(prefix + "self_attn.in_proj_bias", at::zeros({3 * d}));
    Add(prefix + "self_attn.out_proj.weight", UniformInit({d, d}, bound(d), generator));
    Add(prefix + "self_attn.out_proj.bias", at::zeros({d}));
    Add(prefix + "linear1.weight", UniformInit({f, d}, bound(d), generator));
    Add(prefix + "linear1.bias", UniformInit({f}, bound(d), generator));
    Add(prefix + "linear2.weight", UniformInit({d, f}, bound(f), generator));
    Add(prefix + "linear2.bias", UniformInit({d}, bound(f), generator));
    Add(prefix + "norm1.weight", at::ones({d}));
    Add(prefix + "norm1.bias", at::zeros({d}));
    Add(prefix + "norm2.weight", at::ones({d}));
    Add(prefix + "norm2.bias", at::zeros({d}));
  }

  EncoderLayer Layer(size_t i) const {
    const size_t p = first_layer_ + i * 12;  // in the order of AddLayer
    return {parameter(p),     parameter(p + 1), parameter(p + 2),  parameter(p + 3),
            parameter(p + 4), parameter(p + 5), parameter(p + 6),  parameter(p + 7),
            parameter(p + 8), parameter(p + 9), parameter(p + 10), parameter(p + 11)};
  }

  // [n * len, dim]
  at::Tensor Encode(const Batch& batch, bool training) const {
    const int64_t n = batch.tokens.size(0);
    const int64_t len = batch.tokens.size(1);
    at::Tensor h =
        TokenEmbedding(parameter(embedding_), batch.tokens).view({n, len, -1}) + parameter(position_).slice(0, 0, len);
    h = h.view({n * len, -1});
    if (training) h = Dropout(h, transformer_.dropout);
    const at::Tensor lengths = batch.mask.defined() ? batch.mask.sum(1) : at::Tensor();
    for (size_t i = 0; i < layers_; ++i) h = EncoderLayerForward(Layer(i), transformer_, h, n, lengths, training);
    return at::layer_norm(h, {transformer_.dim}, parameter(norm_weight_), parameter(norm_bias_));
  }

  at::Tensor Classify(const at::Tensor& h, const Batch& batch) const {
    const at::Tensor pooled = Pool(h.view({batch.size, -1, transformer_.dim}), batch.mask);
    return at::linear(pooled, parameter(head_.weight), parameter(head_.bias));
  }

  static at::Tensor Pool(const at::Tensor& h, const at::Tensor& mask) {
    if (!mask.defined()) return h.mean(1);
    const at::Tensor weights = mask.to(h.scalar_type()).unsqueeze(2);
    return (h * weights).sum(1) / weights.sum(1);
  }

  Objective objective_;
  TransformerShape transformer_;
  size_t layers_ = 0;
  size_t first_layer_ = 0;
  size_t embedding_ = 0;
  size_t position_ = 0;
  size_t norm_weight_ = 0;
  size_t norm_bias_ = 0;
  Linear head_;
};

}  // namespace

ModelResult MakeTextEncoder(const ModelOptions& options, const ModelShape& shape, const at::Generator& generator) {
  OptionReader reader(options);
  TransformerShape transformer;
  transformer.dim = reader.Integer("dim", 128, 1, 8192);
  const int64_t layers = reader.Integer("layers", 2, 1, 96);
  transformer.heads = reader.Integer("heads", 4, 1, 128);
  transformer.ffn = reader.Integer("ffn", 4 * transformer.dim, 1, 65536);
  transformer.dropout = reader.Number("dropout", 0.1, 0, 1);
  if (!reader.status().ok()) return reader.status();
  if (transformer.dim % transformer.heads != 0) {
    return absl::InvalidArgumentError(absl::StrCat("training.model.options.heads: must divide dim, but dim ",
                                                   transformer.dim, " is no multiple of ", transformer.heads));
  }
  return std::make_unique<TextEncoder>(shape, transformer, layers, generator);
}

}  // namespace ddp
