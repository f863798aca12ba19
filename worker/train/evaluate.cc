#include "worker/train/evaluate.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>

#include "worker/train/autocast.h"

namespace ddp {

namespace {
// Samples of one round over all ranks: between rounds the ranks agree on stopping, so a round is well under a second.
constexpr int64_t kRoundSamples = 2048;
}  // namespace

std::optional<Evaluation> Evaluate(Model& model, const BatchMaker& maker, const BatchCopier& copier, int64_t n,
                                   int64_t micro_batch, Group& group, bool bf16,
                                   const std::function<bool()>& should_stop) {
  at::NoGradGuard no_grad;
  double loss = 0;
  double correct = 0;
  double count = 0;
  bool has_accuracy = false;
  for (int64_t begin = 0; begin < n; begin += kRoundSamples) {
    const int64_t end = std::min(n, begin + kRoundSamples);
    std::vector<int64_t> share;
    for (int64_t i = begin + group.rank(); i < end; i += group.world_size()) share.push_back(i);
    std::array<double, 5> sums{0, 0, 0, should_stop() ? 1.0 : 0.0, 0};
    // Summed where they are made: reading them for each micro-batch would wait for the device.
    const at::Tensor round_loss = at::zeros({}, at::TensorOptions(at::kDouble).device(model.device()));
    const at::Tensor round_correct = at::zeros({}, at::TensorOptions(at::kLong).device(model.device()));
    for (const std::vector<int64_t>& part : maker.Cut(std::move(share), micro_batch)) {
      const Batch batch = copier.End(copier.Begin(maker.Make(part, kValidationRound)));
      const Autocast autocast(bf16, model.device().type());
      const LossSums s = model.Loss(batch, /*training=*/false);
      round_loss.add_(s.loss);
      sums[2] += static_cast<double>(s.count);
      if (s.correct.defined()) {
        round_correct.add_(s.correct);
        sums[4] = 1;
      }
    }
    sums[0] = round_loss.item<double>();
    sums[1] = static_cast<double>(round_correct.item<int64_t>());
    group.Sum(sums);
    loss += sums[0];
    correct += sums[1];
    count += sums[2];
    has_accuracy |= sums[4] > 0;
    if (sums[3] > 0) return std::nullopt;
  }
  Evaluation result{.count = static_cast<int64_t>(count)};
  if (count == 0) return result;
  result.loss = loss / count;
  if (has_accuracy) result.accuracy = correct / count;
  return result;
}

}  // namespace ddp
