#include "worker/train/batch.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "worker/train/errors.h"
#include "worker/train/mix.h"

namespace ddp {

namespace {

double ToUnit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

}  // namespace

double HidingDraw(uint64_t seed, uint64_t round, int64_t index, int64_t position) {
  return ToUnit(Mix(seed, round, static_cast<uint64_t>(index), static_cast<uint64_t>(position)));
}

float NoiseDraw(uint64_t seed, uint64_t round, int64_t index, int64_t j) {
  const uint64_t bits = Mix(seed, round, static_cast<uint64_t>(index), static_cast<uint64_t>(j));
  const auto first = static_cast<float>((bits >> 40) + 1) * 0x1.0p-24F;  // (0, 1]
  const auto second = static_cast<float>(bits & 0xffffff) * 0x1.0p-24F;
  return std::sqrt(-2 * std::log(first)) * std::cos(2 * std::numbers::pi_v<float> * second);
}

BatchMaker::BatchMaker(const Split& split, Objective objective, uint64_t seed)
    : split_(split), objective_(objective), seed_(seed) {}

std::vector<std::vector<int64_t>> BatchMaker::Cut(std::vector<int64_t> samples, int64_t micro_batch) const {
  if (split_.has_text()) {
    std::stable_sort(samples.begin(), samples.end(), [&](int64_t a, int64_t b) { return length(a) < length(b); });
  }
  std::vector<std::vector<int64_t>> parts;
  for (size_t begin = 0; begin < samples.size(); begin += static_cast<size_t>(micro_batch)) {
    const size_t end = std::min(samples.size(), begin + static_cast<size_t>(micro_batch));
    parts.emplace_back(samples.begin() + static_cast<ptrdiff_t>(begin), samples.begin() + static_cast<ptrdiff_t>(end));
  }
  return parts;
}

int64_t BatchMaker::CountTokens(std::span<const int32_t> samples) const {
  if (!split_.has_text()) return 0;
  int64_t tokens = 0;
  for (const int32_t sample : samples) tokens += length(sample);
  return tokens;
}

Batch BatchMaker::Make(std::span<const int64_t> samples, uint64_t round) const {
  Batch batch;
  batch.size = static_cast<int64_t>(samples.size());
  if (split_.has_text()) {
    FillText(samples, round, &batch);
  } else {
    FillFeatures(samples, round, &batch);
  }
  FillLabels(samples, &batch);
  return batch;
}

std::vector<at::Tensor*> TensorsOf(Batch& batch) {
  std::vector<at::Tensor*> all{&batch.tokens,   &batch.mask,  &batch.predict_at, &batch.targets,
                               &batch.features, &batch.clean, &batch.classes,    &batch.numbers};
  std::erase_if(all, [](const at::Tensor* t) { return !t->defined(); });
  return all;
}

std::span<const int32_t> BatchMaker::Tokens(int64_t sample, std::vector<int32_t>* buffer) const {
  if (!split_.windows) {
    return {split_.tokens.data() + split_.token_offsets[static_cast<size_t>(sample)],
            static_cast<size_t>(length(sample))};
  }
  buffer->resize(static_cast<size_t>(length(sample) + 1));
  const absl::Status status = split_.windows->Read(sample, *buffer);
  if (!status.ok()) throw NoRetryError(std::string(status.message()));
  return *buffer;
}

void BatchMaker::Hide(int64_t sample, uint64_t round, int64_t* row, int64_t len, int64_t row_at,
                      std::vector<int64_t>* predict_at, std::vector<int64_t>* targets) const {
  int64_t lowest = 0;
  double lowest_draw = 1;
  const size_t before = predict_at->size();
  auto hide = [&](int64_t j) {
    predict_at->push_back(row_at + j);
    targets->push_back(row[j]);
    row[j] = kMaskToken;
  };
  for (int64_t j = 0; j < len; ++j) {
    const double draw = HidingDraw(seed_, round, sample, j);
    if (draw < lowest_draw) {
      lowest_draw = draw;
      lowest = j;
    }
    if (draw < kHiddenShare) hide(j);
  }
  if (predict_at->size() == before) hide(lowest);
}

void BatchMaker::FillText(std::span<const int64_t> samples, uint64_t round, Batch* batch) const {
  int64_t longest = 0;
  int64_t shortest = INT64_MAX;
  for (int64_t s : samples) {
    longest = std::max(longest, length(s));
    shortest = std::min(shortest, length(s));
  }
  const auto n = static_cast<int64_t>(samples.size());
  batch->tokens = at::zeros({n, longest}, at::kLong);
  int64_t* tokens = batch->tokens.mutable_data_ptr<int64_t>();
  std::vector<int64_t> predict_at;
  std::vector<int64_t> targets;
  std::vector<int32_t> buffer;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t sample = samples[static_cast<size_t>(i)];
    const std::span<const int32_t> text = Tokens(sample, &buffer);
    const int64_t len = length(sample);
    int64_t* row = tokens + i * longest;
    std::copy_n(text.begin(), len, row);
    if (objective_ == Objective::kClm) {
      for (size_t j = 1; j < text.size(); ++j) {
        predict_at.push_back(i * longest + static_cast<int64_t>(j) - 1);
        targets.push_back(text[j]);
      }
    }
    if (IsHidingObjective(objective_)) Hide(sample, round, row, len, i * longest, &predict_at, &targets);
  }
  if (shortest < longest) {
    batch->mask = at::empty({n, longest}, at::kBool);
    bool* mask = batch->mask.mutable_data_ptr<bool>();
    for (int64_t i = 0; i < n; ++i) {
      const int64_t len = length(samples[static_cast<size_t>(i)]);
      std::fill(mask + i * longest, mask + i * longest + len, true);
      std::fill(mask + i * longest + len, mask + (i + 1) * longest, false);
    }
  }
  if (IsHidingObjective(objective_) || objective_ == Objective::kClm) {
    batch->predict_at = at::tensor(predict_at, at::kLong);
    batch->targets = at::tensor(targets, at::kLong);
  }
}

void BatchMaker::FillFeatures(std::span<const int64_t> samples, uint64_t round, Batch* batch) const {
  const auto n = static_cast<int64_t>(samples.size());
  const int64_t d = split_.feature_dim;
  batch->features = at::empty({n, d}, at::kFloat);
  float* out = batch->features.mutable_data_ptr<float>();
  for (int64_t i = 0; i < n; ++i) {
    const auto begin = static_cast<size_t>(samples[static_cast<size_t>(i)] * d);
    if (!split_.pixels.empty()) {
      const uint8_t* row = split_.pixels.data() + begin;
      const float scale = 1.0F / (255.0F * split_.pixel_std);
      const float shift = split_.pixel_mean / split_.pixel_std;
      for (int64_t j = 0; j < d; ++j) out[i * d + j] = static_cast<float>(row[j]) * scale - shift;
    } else {
      std::memcpy(out + i * d, split_.features.data() + begin, static_cast<size_t>(d) * sizeof(float));
    }
  }
  if (objective_ != Objective::kDenoising) return;
  batch->clean = batch->features.clone();
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < d; ++j) {
      out[i * d + j] += kNoise * NoiseDraw(seed_, round, samples[static_cast<size_t>(i)], j);
    }
  }
}

void BatchMaker::FillLabels(std::span<const int64_t> samples, Batch* batch) const {
  const auto n = static_cast<int64_t>(samples.size());
  if (objective_ == Objective::kClassification) {
    batch->classes = at::empty({n}, at::kLong);
    int64_t* out = batch->classes.mutable_data_ptr<int64_t>();
    for (int64_t i = 0; i < n; ++i) out[i] = split_.classes[static_cast<size_t>(samples[static_cast<size_t>(i)])];
  } else if (objective_ == Objective::kRegression) {
    batch->numbers = at::empty({n}, at::kFloat);
    float* out = batch->numbers.mutable_data_ptr<float>();
    for (int64_t i = 0; i < n; ++i) {
      out[i] = static_cast<float>(split_.numbers[static_cast<size_t>(samples[static_cast<size_t>(i)])]);
    }
  }
}

}  // namespace ddp
