#include "worker/train/sample_texts.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/text.h"
#include "worker/train/autocast.h"

namespace ddp {

namespace {

constexpr int64_t kSamples = 8;
// Of a text: what one can take in at a glance.
constexpr int64_t kShownTokens = 64;
constexpr size_t kShownBytes = 300;
constexpr size_t kShownHidden = 8;
// clm: each token of a continuation is a forward pass.
constexpr int64_t kPrompts = 4;
constexpr int64_t kPromptTokens = 8;
constexpr int64_t kContinuation = 8;

class Sampler {
 public:
  Sampler(Model& model, const BatchMaker& maker, const BatchCopier& copier, const Dataset& data, bool bf16)
      : model_(model), maker_(maker), copier_(copier), data_(data), bf16_(bf16) {}

  std::string Classification(const std::vector<int64_t>& samples) {
    const Batch batch = maker_.Make(samples, kValidationRound);
    const auto [probability, predicted] = Best(batch);
    if (!predicted.defined()) return "";
    std::string text;
    for (int64_t i = 0; i < batch.size; ++i) {
      const auto truth = static_cast<size_t>(batch.classes.const_data_ptr<int64_t>()[i]);
      const auto guess = static_cast<size_t>(predicted.const_data_ptr<int64_t>()[i]);
      absl::StrAppendFormat(&text, "%d. label %s, predicted %s (%.2f)%s\n   %s\n", i + 1, ClassName(truth),
                            ClassName(guess), probability.const_data_ptr<float>()[i], truth == guess ? "" : ", wrong",
                            Text(Row(batch, i)));
    }
    return text;
  }

  std::string HiddenTokens(const std::vector<int64_t>& samples) {
    Batch batch = maker_.Make(samples, kValidationRound);
    const int64_t len = batch.tokens.size(1);
    // Only those that are shown: each costs a row as long as the vocabulary.
    std::vector<int64_t> at;
    std::vector<int32_t> truth;
    std::vector<size_t> shown(samples.size());
    for (int64_t k = 0; k < batch.predict_at.size(0); ++k) {
      const int64_t place = batch.predict_at.const_data_ptr<int64_t>()[k];
      size_t& count = shown[static_cast<size_t>(place / len)];
      if (place % len >= kShownTokens || count == kShownHidden) continue;
      ++count;
      at.push_back(place);
      truth.push_back(static_cast<int32_t>(batch.targets.const_data_ptr<int64_t>()[k]));
    }
    batch.predict_at = at::tensor(at, at::kLong);
    const auto [probability, predicted] = Best(batch);
    if (!predicted.defined()) return "";
    std::string text;
    size_t k = 0;
    for (int64_t i = 0; i < batch.size; ++i) {
      absl::StrAppend(&text, i + 1, ". ", Text(Row(batch, i)), "\n");
      std::string line;
      for (; k < at.size() && at[k] / len == i; ++k) {
        const auto guess = static_cast<int32_t>(predicted.const_data_ptr<int64_t>()[k]);
        absl::StrAppendFormat(&line, "%s%s -> %s (%.2f)", line.empty() ? "   " : ", ", Text({{truth[k]}}),
                              Text({{guess}}), probability.const_data_ptr<float>()[k]);
      }
      if (!line.empty()) absl::StrAppend(&text, line, "\n");
    }
    return text;
  }

  std::string Continuations(std::vector<int64_t> samples) {
    samples.resize(std::min<size_t>(samples.size(), kPrompts));
    std::string text;
    for (size_t i = 0; i < samples.size(); ++i) {
      const std::vector<int32_t> row = Row(maker_.Make({&samples[i], 1}, kValidationRound), 0);
      const auto length = static_cast<int64_t>(row.size());
      const int64_t prompt = std::min(kPromptTokens, std::max<int64_t>(1, length / 2));
      // Not longer than the text, for which the model has positions.
      const int64_t more = std::min(kContinuation, length - prompt);
      if (more == 0) continue;
      std::vector<int64_t> tokens(row.begin(), row.begin() + prompt);
      for (int64_t n = 0; n < more; ++n) {
        Batch batch{.size = 1, .tokens = at::tensor(tokens, at::kLong).unsqueeze(0)};
        const at::Tensor next = Best(batch).second;
        if (!next.defined()) return "";
        tokens.push_back(next[0][-1].item<int64_t>());
      }
      const std::vector<int32_t> said(tokens.begin() + prompt, tokens.end());
      const std::span<const int32_t> all = row;
      absl::StrAppend(&text, i + 1, ". ", Text(all.first(static_cast<size_t>(prompt))), "\n   -> ", Text(said),
                      "\n   text: ", Text(all.subspan(static_cast<size_t>(prompt), static_cast<size_t>(more))), "\n");
    }
    return text;
  }

 private:
  // Of each row of logits the largest probability and its index, on the CPU; undefined: the model has no logits.
  std::pair<at::Tensor, at::Tensor> Best(const Batch& batch) {
    const Batch there = copier_.End(copier_.Begin(batch));
    at::Tensor logits;
    {
      const Autocast autocast(bf16_, model_.device().type());
      logits = model_.Logits(there);
    }
    if (!logits.defined()) return {};
    const auto [probability, index] = at::softmax(logits.to(at::kFloat), -1).max(-1);
    return {probability.cpu().contiguous(), index.cpu().contiguous()};
  }

  // Tokens of sample i, without padding.
  static std::vector<int32_t> Row(const Batch& batch, int64_t i) {
    const int64_t len = batch.tokens.size(1);
    const int64_t used = batch.mask.defined() ? batch.mask[i].sum().item<int64_t>() : len;
    const int64_t* row = batch.tokens.const_data_ptr<int64_t>() + i * len;
    return {row, row + used};
  }

  // In one line, and the beginning only.
  std::string Text(std::span<const int32_t> tokens) const {
    const size_t shown = std::min(tokens.size(), static_cast<size_t>(kShownTokens));
    const std::string text = EscapeControls(data_.tokenizer.Decode(tokens.first(shown)));
    const std::string_view cut = CutUtf8(text, kShownBytes);
    return absl::StrCat(std::string(cut), cut.size() < text.size() || shown < tokens.size() ? " ..." : "");
  }

  std::string ClassName(size_t index) const { return EscapeControls(data_.class_names[index]); }

  Model& model_;
  const BatchMaker& maker_;
  const BatchCopier& copier_;
  const Dataset& data_;
  bool bf16_;
};

}  // namespace

std::string SampleTexts(Model& model, const BatchMaker& maker, const BatchCopier& copier, const Dataset& data,
                        Objective objective, int64_t at_most, bool bf16) {
  if (!data.valid.has_text()) return "";
  const at::NoGradGuard no_grad;
  const int64_t n = data.valid.size();
  const int64_t count = std::min({kSamples, at_most, n});
  std::vector<int64_t> samples;
  for (int64_t k = 0; k < count; ++k) samples.push_back(k * n / count);
  Sampler sampler(model, maker, copier, data, bf16);
  switch (objective) {
    case Objective::kClassification:
      return sampler.Classification(samples);
    case Objective::kMlm:
      return sampler.HiddenTokens(samples);
    case Objective::kClm:
      return sampler.Continuations(samples);
    default:
      return "";
  }
}

}  // namespace ddp
