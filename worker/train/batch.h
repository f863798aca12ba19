// Samples to tensors.
#ifndef DDP_WORKER_TRAIN_BATCH_H_
#define DDP_WORKER_TRAIN_BATCH_H_

#include <c10/core/Device.h>

#include <cstdint>
#include <span>
#include <vector>

#include "worker/config.h"
#include "worker/data/dataset.h"
#include "worker/models/model.h"

namespace ddp {

// Share of the tokens hidden for the token objectives (at least one in each sample).
inline constexpr double kHiddenShare = 0.15;

// Whether token `position` of sample `index` is hidden in `round` (the epoch, or kValidationRound): a hash of these and
// the seed, so that it is the same on any number of ranks and after any resume. A value in [0, 1); hidden when <
// kHiddenShare.
double HidingDraw(uint64_t seed, uint64_t round, int64_t index, int64_t position);
inline constexpr uint64_t kValidationRound = ~uint64_t{0};

// Denoising: noise of this standard deviation is added to each (normalised) feature.
inline constexpr double kNoiseStd = 0.5;
// The noise, before it is scaled, of feature `position` of sample `index` in `round`: normally distributed, and a hash
// as well.
double NoiseDraw(uint64_t seed, uint64_t round, int64_t index, int64_t position);

// Makes micro-batches out of one split. The split must outlive it. Not thread-safe.
class BatchMaker {
 public:
  BatchMaker(const Split& split, Objective objective, uint64_t seed, at::Device device);

  // Cuts samples into micro-batches of at most `micro_batch`. Texts are grouped by length first, so that a micro-batch
  // is padded to little more than its own longest text; losses are sums, so the order does not matter.
  std::vector<std::vector<int64_t>> Cut(std::vector<int64_t> samples, int64_t micro_batch) const;

  Batch Make(std::span<const int64_t> samples, uint64_t round) const;

 private:
  bool has_text() const { return !split_.token_offsets.empty(); }
  int64_t length(int64_t sample) const {
    return split_.token_offsets[static_cast<size_t>(sample) + 1] - split_.token_offsets[static_cast<size_t>(sample)];
  }
  void FillText(std::span<const int64_t> samples, uint64_t round, Batch* batch) const;
  void FillFeatures(std::span<const int64_t> samples, Batch* batch) const;
  void AddNoise(std::span<const int64_t> samples, uint64_t round, Batch* batch) const;
  void FillLabels(std::span<const int64_t> samples, Batch* batch) const;

  const Split& split_;
  Objective objective_;
  uint64_t seed_;
  at::Device device_;
};

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_BATCH_H_
