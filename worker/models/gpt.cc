// gpt: GPT-2, with the parameter names and layouts of Hugging Face's GPT2LMHeadModel, so that its safetensors files
// load, with and without the prefix "transformer.":
//   clm             logits = h E^T over the vocabulary, E the token embedding (tied); loss on the next token
//   classification  the state of the last token, then a linear layer without bias     score.weight [classes, dim]
// Options: dim (128), layers (4), heads (4), context (max_tokens), dropout (0).
// Parameters: transformer.wte.weight [vocab, dim], transformer.wpe.weight [context, dim], transformer.h.I.*,
// transformer.ln_f.*. Matrices of a layer are [in, out] (Hugging Face's Conv1D).
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "worker/models/chunked_cross_entropy.h"
#include "worker/models/dropout.h"
#include "worker/models/options.h"
#include "worker/models/registry.h"
#include "worker/models/token_embedding.h"

namespace ddp {

namespace {

constexpr double kStd = 0.02;
constexpr double kEps = 1e-5;

struct GptShape {
  int64_t dim = 128;
  int64_t layers = 4;
  int64_t heads = 4;
  int64_t context = 32;
  double dropout = 0;
};

class Gpt : public Model {
 public:
  Gpt(const ModelShape& shape, const GptShape& gpt, const at::Generator& generator)
      : objective_(shape.objective), gpt_(gpt) {
    const int64_t d = gpt.dim;
    const auto normal = [&](const std::string& name, at::IntArrayRef sizes, double std = kStd) {
      return Add(name, NormalInit(sizes, std, generator));
    };
    const auto affine = [&](const std::string& name) {  // layer norm
      return Linear{Add(name + ".weight", at::ones({d})), Add(name + ".bias", at::zeros({d}))};
    };
    const auto linear = [&](const std::string& name, int64_t in, int64_t out, double std = kStd) {
      return Linear{normal(name + ".weight", {in, out}, std), Add(name + ".bias", at::zeros({out}))};
    };
    tokens_ = normal("transformer.wte.weight", {shape.vocab, d});
    positions_ = normal("transformer.wpe.weight", {gpt.context, d});
    // Each layer adds twice to the residual stream; so scaled, its variance stays what it was (GPT-2's paper, 2.3).
    const double residual_std = kStd / std::sqrt(static_cast<double>(2 * gpt.layers));
    for (int64_t i = 0; i < gpt.layers; ++i) {
      const std::string prefix = absl::StrCat("transformer.h.", i, ".");
      Layer& layer = layers_.emplace_back();
      layer.norm1 = affine(prefix + "ln_1");
      layer.attention = linear(prefix + "attn.c_attn", d, 3 * d);
      layer.attention_out = linear(prefix + "attn.c_proj", d, d, residual_std);
      layer.norm2 = affine(prefix + "ln_2");
      layer.inner = linear(prefix + "mlp.c_fc", d, 4 * d);
      layer.outer = linear(prefix + "mlp.c_proj", 4 * d, d, residual_std);
    }
    norm_ = affine("transformer.ln_f");
    if (objective_ == Objective::kClassification) score_ = normal("score.weight", {shape.classes, d});
  }

  LossSums Loss(const Batch& batch, bool training) override {
    const at::Tensor h = Encode(batch, training ? gpt_.dropout : 0.0);
    if (objective_ == Objective::kClassification) {
      return ClassificationSums(at::linear(LastState(h, batch), parameter(score_)), batch.classes);
    }
    return ChunkedCrossEntropy(h.index_select(0, batch.predict_at), parameter(tokens_), {}, batch.targets);
  }

  at::Tensor Logits(const Batch& batch) override {
    const at::Tensor h = Encode(batch, 0);
    if (objective_ == Objective::kClassification) return at::linear(LastState(h, batch), parameter(score_));
    return at::linear(h, parameter(tokens_)).view({batch.tokens.size(0), batch.tokens.size(1), -1});
  }

  std::vector<std::string> TaskPrefixes() const override { return {"score."}; }

  std::string NameOf(const std::string& name_in_file) const override {
    // The hub's files are those of GPT2Model, without the head.
    const bool bare = absl::StartsWith(name_in_file, "wte.") || absl::StartsWith(name_in_file, "wpe.") ||
                      absl::StartsWith(name_in_file, "h.") || absl::StartsWith(name_in_file, "ln_f.");
    // Causal masks, which older versions of transformers saved.
    if (absl::EndsWith(name_in_file, ".attn.bias") || absl::EndsWith(name_in_file, ".attn.masked_bias")) return "";
    if (name_in_file == "lm_head.weight") return "transformer.wte.weight";
    return bare ? "transformer." + name_in_file : name_in_file;
  }

 private:
  struct Layer {
    Linear norm1, attention, attention_out, norm2, inner, outer;
  };

  at::Tensor Norm(const at::Tensor& x, const Linear& norm) const {
    return at::layer_norm(x, {gpt_.dim}, parameter(norm.weight), parameter(norm.bias), kEps);
  }
  at::Tensor Apply(const at::Tensor& x, const Linear& linear) const {
    return at::addmm(parameter(linear.bias), x, parameter(linear.weight));
  }

  // Each position sees itself and those before. Padding is at the end, so no real token sees it, and needs no mask.
  at::Tensor Attend(const Layer& layer, const at::Tensor& x, int64_t n, double dropout) const {
    // [3, n, heads, len, dim / heads]
    const at::Tensor qkv =
        Apply(x, layer.attention).view({n, -1, 3, gpt_.heads, gpt_.dim / gpt_.heads}).permute({2, 0, 3, 1, 4});
    const at::Tensor mixed = at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], {}, dropout, /*is_causal=*/true);
    return Apply(mixed.transpose(1, 2).reshape({-1, gpt_.dim}), layer.attention_out);
  }

  // [n * len, dim]
  at::Tensor Encode(const Batch& batch, double dropout) const {
    const int64_t n = batch.tokens.size(0);
    const int64_t len = batch.tokens.size(1);
    at::Tensor h =
        TokenEmbedding(parameter(tokens_), batch.tokens).view({n, len, -1}) + parameter(positions_).slice(0, 0, len);
    h = Dropout(h.view({-1, gpt_.dim}), dropout);
    for (const Layer& layer : layers_) {
      h = AddDropout(h, Attend(layer, Norm(h, layer.norm1), n, dropout), dropout);
      const at::Tensor inner = at::gelu(Apply(Norm(h, layer.norm2), layer.inner), "tanh");
      h = AddDropout(h, Apply(inner, layer.outer), dropout);
    }
    return Norm(h, norm_);
  }

  // Of each text the state at its last token: [n, dim].
  static at::Tensor LastState(const at::Tensor& h, const Batch& batch) {
    const int64_t n = batch.tokens.size(0);
    const int64_t len = batch.tokens.size(1);
    const at::Tensor first = at::arange(n, batch.tokens.options()) * len;
    return h.index_select(0, first + (batch.mask.defined() ? batch.mask.sum(1) - 1 : at::full_like(first, len - 1)));
  }

  Objective objective_;
  GptShape gpt_;
  std::vector<Layer> layers_;
  size_t tokens_ = 0;
  size_t positions_ = 0;
  Linear norm_;
  size_t score_ = 0;
};

}  // namespace

ModelResult MakeGpt(const ModelOptions& options, const ModelShape& shape, const at::Generator& generator) {
  OptionReader reader(options);
  GptShape gpt;
  gpt.dim = reader.Integer("dim", 128, 1, 16384);
  gpt.layers = reader.Integer("layers", 4, 1, 96);
  gpt.heads = reader.Integer("heads", 4, 1, 128);
  gpt.context = reader.Integer("context", shape.max_tokens, 1, 65536);
  gpt.dropout = reader.Number("dropout", 0, 0, 1);
  if (!reader.status().ok()) return reader.status();
  if (gpt.dim % gpt.heads != 0) {
    return absl::InvalidArgumentError(absl::StrCat("training.model.options.heads: must divide dim, but dim ", gpt.dim,
                                                   " is no multiple of ", gpt.heads));
  }
  if (gpt.context < shape.max_tokens) {
    return absl::InvalidArgumentError(absl::StrCat("training.model.options.context: ", gpt.context,
                                                   " positions are fewer than training.data.max_tokens, which is ",
                                                   shape.max_tokens, ": raise context, or lower max_tokens"));
  }
  return std::make_unique<Gpt>(shape, gpt, generator);
}

}  // namespace ddp
