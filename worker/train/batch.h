// Samples to tensors.
#ifndef DDP_WORKER_TRAIN_BATCH_H_
#define DDP_WORKER_TRAIN_BATCH_H_

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

// Standard deviation of the noise that the objective denoising adds to (normalised) features.
inline constexpr float kNoise = 0.5F;
// Value `j` of the noise of sample `index` in `round`: standard normal, by the Box-Muller transform of a hash, so that
// it is the same on any number of ranks and after any resume.
float NoiseDraw(uint64_t seed, uint64_t round, int64_t index, int64_t j);

// Makes micro-batches out of one split, on the CPU. The split must outlive it. Thread-safe.
class BatchMaker {
 public:
  BatchMaker(const Split& split, Objective objective, uint64_t seed);

  // Cuts samples into micro-batches of at most `micro_batch`. Texts are grouped by length first, so that a micro-batch
  // is padded to little more than its own longest text; losses are sums, so the order does not matter.
  std::vector<std::vector<int64_t>> Cut(std::vector<int64_t> samples, int64_t micro_batch) const;

  // Tokens of these samples, without padding; 0: no text.
  int64_t CountTokens(std::span<const int32_t> samples) const;

  // Throws NoRetryError for a token file with a token outside its vocabulary.
  Batch Make(std::span<const int64_t> samples, uint64_t round) const;

 private:
  int64_t length(int64_t sample) const {
    if (split_.windows) return split_.windows->window_tokens();
    return split_.token_offsets[static_cast<size_t>(sample) + 1] - split_.token_offsets[static_cast<size_t>(sample)];
  }
  void FillText(std::span<const int64_t> samples, uint64_t round, Batch* batch) const;
  // The tokens of a sample, and in a file of tokens the one behind them.
  std::span<const int32_t> Tokens(int64_t sample, std::vector<int32_t>* buffer) const;
  // Hides tokens of a row in place.
  void Hide(int64_t sample, uint64_t round, int64_t* row, int64_t len, int64_t row_at, std::vector<int64_t>* predict_at,
            std::vector<int64_t>* targets) const;
  void FillFeatures(std::span<const int64_t> samples, uint64_t round, Batch* batch) const;
  void FillLabels(std::span<const int64_t> samples, Batch* batch) const;

  const Split& split_;
  Objective objective_;
  uint64_t seed_;
};

// Those that the batch has.
std::vector<at::Tensor*> TensorsOf(Batch& batch);

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_BATCH_H_
