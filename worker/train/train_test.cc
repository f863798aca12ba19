// Sampler, schedule, optimizer, batches and the loading of weights, against numbers of Python's torch 2.11 or made by
// hand.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "worker/train/batch.h"
#include "worker/train/errors.h"
#include "worker/train/initial_weights.h"
#include "worker/train/optimizer.h"
#include "worker/train/prefetch.h"
#include "worker/train/sampler.h"
#include "worker/train/schedule.h"
#include "worker/train/step_policy.h"
#include "worker/train/watch.h"

namespace ddp {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

// list(DistributedSampler(range(n), num_replicas=1, rank=0, shuffle=True, seed=seed)) after set_epoch(epoch).
TEST(SamplerTest, OrderIsThatOfDistributedSampler) {
  EXPECT_THAT(EpochOrder(10, 0, 0), ElementsAre(4, 1, 7, 5, 3, 9, 0, 8, 6, 2));
  EXPECT_THAT(EpochOrder(10, 0, 1), ElementsAre(5, 6, 1, 2, 0, 8, 9, 3, 7, 4));
  EXPECT_THAT(EpochOrder(10, 7, 3), ElementsAre(7, 4, 6, 1, 3, 5, 9, 8, 2, 0));
  EXPECT_THAT(EpochOrder(1, 0, 0), ElementsAre(0));
  const std::vector<int32_t> large = EpochOrder(100000, 0, 0);
  EXPECT_EQ(std::vector<int32_t>(large.begin(), large.begin() + 5),
            (std::vector<int32_t>{36044, 73702, 76369, 2549, 52523}));
  EXPECT_EQ(large.back(), 84786);
}

TEST(SamplerTest, SharesAreThoseOfDistributedSampler) {
  // num_replicas=2: rank 0 has 4, 7, 3, 0, 6; rank 1 has 1, 5, 9, 8, 2.
  const std::vector<int32_t> order = EpochOrder(10, 0, 0);
  EXPECT_THAT(RankShare(order, 0, 10, 0, 2), ElementsAre(4, 7, 3, 0, 6));
  EXPECT_THAT(RankShare(order, 0, 10, 1, 2), ElementsAre(1, 5, 9, 8, 2));
}

TEST(SamplerTest, EverySampleOnceOnAnyNumberOfRanks) {
  for (int world = 1; world <= 7; ++world) {
    for (int64_t batch = 1; batch <= 12; ++batch) {
      const std::vector<int32_t> order = EpochOrder(11, 3, 0);
      std::multiset<int64_t> seen;
      for (int64_t step = 0; step < StepsPerEpoch(11, batch); ++step) {
        for (int rank = 0; rank < world; ++rank) {
          for (const int64_t i : RankShare(order, step * batch, std::min<int64_t>(11, (step + 1) * batch), rank, world))
            seen.insert(i);
        }
      }
      EXPECT_EQ(seen.size(), 11u);
      EXPECT_EQ(std::set<int64_t>(seen.begin(), seen.end()).size(), 11u);
    }
  }
  EXPECT_EQ(DescribeShares(10, 4), "3+3+2+2");
  EXPECT_EQ(DescribeShares(3, 4), "1+1+1+0");
}

// The rates of torch.optim.lr_scheduler, as Python's torch 2.11 prints them.
std::vector<double> Rates(const TrainingConfig& config, int steps, int steps_per_epoch) {
  std::vector<double> rates;
  for (int i = 0; i < steps; ++i) rates.push_back(LearningRate(config, i / steps_per_epoch, i, steps));
  return rates;
}

TEST(ScheduleTest, GoldenValues) {
  TrainingConfig config;
  EXPECT_THAT(Rates(config, 9, 1), Pointwise(DoubleEq(), {1e-3, 1e-3, 1e-3, 1e-4, 1e-4, 1e-4, 1e-5, 1e-5, 1e-5}));
  config.schedule = ScheduleKind::kConstant;
  EXPECT_THAT(Rates(config, 3, 1), Pointwise(DoubleEq(), {1e-3, 1e-3, 1e-3}));
  config.lr = 0.5;
  config.min_lr = 0.05;
  config.milestones = {2, 5};
  config.schedule = ScheduleKind::kMultistep;
  EXPECT_THAT(Rates(config, 8, 1), Pointwise(DoubleEq(), {.5, .5, .05, .05, .05, .005, .005, .005}));
  config.schedule = ScheduleKind::kCosine;
  EXPECT_THAT(Rates(config, 8, 3),
              Pointwise(DoubleNear(1e-15), {0.5, 0.48287289481503953, 0.4340990257669732, 0.36110377228214524, 0.275,
                                            0.18889622771785486, 0.11590097423302685, 0.0671271051849605}));
  config.schedule = ScheduleKind::kLinear;
  EXPECT_THAT(Rates(config, 8, 3),
              Pointwise(DoubleNear(1e-15), {0.5, 0.44375, 0.3875, 0.33125, 0.275, 0.21875, 0.1625, 0.10625}));
}

// SequentialLR of LinearLR(1 / 4, total_iters=3) and the schedule over the other 6 steps, milestone 4.
TEST(ScheduleTest, Warmup) {
  TrainingConfig config;
  config.lr = 0.5;
  config.min_lr = 0.05;
  config.warmup = 4;
  config.schedule = ScheduleKind::kCosine;
  EXPECT_THAT(Rates(config, 10, 2), Pointwise(DoubleNear(1e-15), {0.125, 0.25, 0.375, 0.5, 0.5, 0.4698557158514987,
                                                                  0.3875, 0.275, 0.1625, 0.0801442841485013}));
  config.schedule = ScheduleKind::kLinear;
  EXPECT_THAT(Rates(config, 10, 2),
              Pointwise(DoubleNear(1e-15), {0.125, 0.25, 0.375, 0.5, 0.5, 0.425, 0.35, 0.275, 0.2, 0.125}));
  // With drops by epoch, the warm-up scales whatever the rate of the epoch is.
  config.schedule = ScheduleKind::kStep;
  config.step_size = 1;
  EXPECT_THAT(Rates(config, 6, 2), Pointwise(DoubleNear(1e-15), {.125, .25, .0375, .05, .005, .005}));
}

// Case C5: the rate is a function of the epoch, whatever the number of ranks: the first drop of StepLR(20) is at 20.
TEST(ScheduleTest, DropsByEpoch) {
  TrainingConfig config;
  config.step_size = 20;
  const std::vector<double> rates = Rates(config, 40, 1);
  for (size_t epoch = 0; epoch < 40; ++epoch) EXPECT_DOUBLE_EQ(rates[epoch], epoch < 20 ? 1e-3 : 1e-4);
}

// Three steps of torch.optim in float64 from [1, -2, 3] with the gradients below, lr 0.1.
std::vector<float> AfterThreeSteps(const TrainingConfig& config, double divisor) {
  at::Tensor p = at::tensor({1.0F, -2.0F, 3.0F}).set_requires_grad(true);
  const at::Tensor frozen = at::tensor({7.0F});
  Optimizer optimizer(config, {{"frozen", frozen}, {"p", p}});
  for (const std::vector<float>& gradient : {std::vector<float>{.5F, -1, 2}, {.25F, .5F, -4}, {-1, 0, 1}}) {
    p.mutable_grad() = at::tensor(gradient) * divisor;
    const at::Tensor norm = optimizer.GradientNorm(divisor);
    double right = 0;
    for (const float g : gradient) right += static_cast<double>(g) * g;
    EXPECT_NEAR(norm.item<double>(), std::sqrt(right), 1e-6);
    optimizer.Step(0.1, divisor, norm);
  }
  EXPECT_EQ(frozen.item<float>(), 7);
  const at::Tensor host = p.detach().contiguous();
  return {host.const_data_ptr<float>(), host.const_data_ptr<float>() + 3};
}

TEST(OptimizerTest, GoldenValues) {
  using K = OptimizerKind;
  struct Case {
    TrainingConfig config;
    std::vector<double> right;
  };
  for (const Case& c :
       {Case{{.optimizer = K::kAdam}, {0.827417743, -1.852778367, 2.950279419}},
        Case{{.optimizer = K::kAdam, .weight_decay = .01}, {0.825847770, -1.847795499, 2.948349140}},
        Case{{.optimizer = K::kAdam, .beta1 = .8, .beta2 = .95, .eps = 1e-3}, {0.83763428, -1.863346602, 2.956182141}},
        Case{{.optimizer = K::kAdamW, .weight_decay = .01}, {0.824713860, -1.847010899, 2.941451706}},
        Case{{.optimizer = K::kAdamW, .weight_decay = .01, .clip = 3}, {0.832684981, -1.828834909, 2.916449124}},
        Case{{.optimizer = K::kSgd}, {1.025, -1.95, 3.1}},
        Case{{.optimizer = K::kSgd, .clip = 1}, {1.042699006, -1.968736127, 2.941039743}},
        Case{{.optimizer = K::kSgd, .weight_decay = .01, .momentum = .9}, {0.911609749, -1.813119498, 3.101544197}},
        Case{{.optimizer = K::kSgd, .momentum = .9, .nesterov = true}, {0.9503, -1.7916, 3.2062}}}) {
    for (const double divisor : {1.0, 8.0}) {
      const std::vector<float> got = AfterThreeSteps(c.config, divisor);
      for (size_t i = 0; i < 3; ++i) {
        EXPECT_NEAR(got[i], c.right[i], 2e-6) << static_cast<int>(c.config.optimizer) << " " << divisor;
      }
    }
  }
}

TEST(StepPolicyTest, NonFiniteSteps) {
  const double nan = NAN;
  for (const NanPolicy policy : {NanPolicy::kStop, NanPolicy::kSkip, NanPolicy::kRollback}) {
    EXPECT_EQ(JudgeStep(policy, 1.5, 2, 99, 10), StepVerdict::kUpdate);
  }
  EXPECT_EQ(JudgeStep(NanPolicy::kStop, nan, 1, 0, 0), StepVerdict::kFail);
  EXPECT_EQ(JudgeStep(NanPolicy::kStop, 1, INFINITY, 0, 0), StepVerdict::kFail);
  EXPECT_EQ(JudgeStep(NanPolicy::kSkip, nan, 1, 0, 0), StepVerdict::kSkip);
  EXPECT_EQ(JudgeStep(NanPolicy::kSkip, nan, 1, 98, 0), StepVerdict::kSkip);
  EXPECT_EQ(JudgeStep(NanPolicy::kSkip, nan, 1, 99, 0), StepVerdict::kFail);
  EXPECT_EQ(JudgeStep(NanPolicy::kRollback, 1, nan, 0, 9), StepVerdict::kRollBack);
  EXPECT_EQ(JudgeStep(NanPolicy::kRollback, -INFINITY, 1, 0, 10), StepVerdict::kFail);
}

TEST(StepPolicyTest, BestEpoch) {
  BestEpoch best;
  best = NextBest(best, 0.7, /*higher_is_better=*/false, 10);
  EXPECT_EQ(best.step, 10);
  best = NextBest(best, 0.7, false, 20);  // equal is no better
  best = NextBest(best, NAN, false, 30);
  best = NextBest(best, std::nullopt, false, 40);
  EXPECT_EQ(best.step, 10);
  EXPECT_EQ(best.stale_epochs, 3);
  best = NextBest(best, 0.6, false, 50);
  EXPECT_EQ(best.step, 50);
  EXPECT_EQ(best.value, 0.6);
  EXPECT_EQ(best.stale_epochs, 0);
  EXPECT_EQ(NextBest(best, 0.7, /*higher_is_better=*/true, 60).step, 60);
  // Nothing finite yet: none is the best.
  EXPECT_EQ(NextBest({}, INFINITY, true, 5).step, -1);
}

TEST(StepPolicyTest, FrozenNames) {
  const std::vector<std::string> names{"embed.weight", "layers.0.w", "layers.1.w", "head.weight"};
  EXPECT_THAT(*FrozenNames(names, {}), ElementsAre(false, false, false, false));
  EXPECT_THAT(*FrozenNames(names, {"layers.*", "embed.weight"}), ElementsAre(true, true, true, false));
  EXPECT_THAT(std::string(FrozenNames(names, {"layers.*", "body.*"}).status().message()),
              HasSubstr("training.freeze[1]: no parameter matches 'body.*'"));
  EXPECT_THAT(std::string(FrozenNames(names, {"*"}).status().message()), HasSubstr("every parameter is frozen"));
}

TEST(HistogramTest, CountsByHand) {
  // 0, 1, ..., 64, times 0.5: one in each part, and two in the last one, which the maximum belongs to.
  HistogramReport report = HistogramOf("grad/w", 7, at::arange(65, at::kFloat), 0.5);
  EXPECT_EQ(report.series, "grad/w");
  EXPECT_EQ(report.step, 7);
  EXPECT_EQ(report.min, 0);
  EXPECT_EQ(report.max, 32);
  for (size_t i = 0; i < 63; ++i) EXPECT_EQ(report.counts[i], 1) << i;
  EXPECT_EQ(report.counts[63], 2);
  EXPECT_EQ(report.non_finite, 0);
  report = HistogramOf("w", 1, at::tensor({NAN, 2.0F, 2.0F, INFINITY}), 1);
  EXPECT_EQ(report.min, 2);
  EXPECT_EQ(report.max, 2);
  EXPECT_EQ(report.counts[0], 2);
  EXPECT_EQ(report.non_finite, 2);
  report = HistogramOf("w", 1, at::tensor({-INFINITY}), 1);
  EXPECT_EQ(report.non_finite, 1);
  EXPECT_EQ(report.counts[0], 0);
}

TEST(PrefetcherTest, GivesAllInOrderAheadOrNot) {
  const BatchCopier copier(at::kCPU);
  for (const int ahead : {0, 1, 4}) {
    int64_t made = 0;
    Prefetcher prefetcher(
        [&]() -> std::optional<Batch> {
          if (made == 100) return std::nullopt;
          return Batch{.size = ++made};
        },
        ahead, copier);
    for (int64_t i = 1; i <= 100; ++i) EXPECT_EQ(prefetcher.Next()->size, i);
    EXPECT_FALSE(prefetcher.Next());
    EXPECT_FALSE(prefetcher.Next());
  }
}

TEST(PrefetcherTest, PassesOnWhatIsThrownAfterWhatWasMade) {
  const BatchCopier copier(at::kCPU);
  int made = 0;
  Prefetcher prefetcher(
      [&]() -> std::optional<Batch> {
        if (++made == 3) throw NoRetryError("token 7");
        return Batch{};
      },
      4, copier);
  EXPECT_TRUE(prefetcher.Next());
  EXPECT_TRUE(prefetcher.Next());
  EXPECT_THROW(prefetcher.Next(), NoRetryError);
  EXPECT_THROW(prefetcher.Next(), NoRetryError);
}

TEST(PrefetcherTest, CanBeLeftInTheMiddle) {
  const BatchCopier copier(at::kCPU);
  Prefetcher prefetcher([]() -> std::optional<Batch> { return Batch{}; }, 2, copier);
  EXPECT_TRUE(prefetcher.Next());
}

TEST(BatchCopierTest, ToACpuNothingIsCopied) {
  Batch batch{.size = 2, .features = at::ones({2, 3}), .classes = at::zeros({2}, at::kLong)};
  EXPECT_THAT(TensorsOf(batch), ElementsAre(&batch.features, &batch.classes));
  const BatchCopier copier(at::kCPU);
  const void* memory = batch.features.const_data_ptr();
  BatchCopier::Copy copy = copier.Begin(std::move(batch));
  EXPECT_FALSE(copy.arrived);
  const Batch arrived = copier.End(std::move(copy));
  EXPECT_EQ(arrived.features.const_data_ptr(), memory);
  EXPECT_EQ(arrived.size, 2);
}

Split TextSplit() {
  Split split;
  split.token_offsets = {0};
  for (int64_t i = 0; i < 200; ++i) {
    for (int64_t j = 0; j <= i % 20; ++j) split.tokens.push_back(static_cast<int32_t>(3 + i + j));
    split.token_offsets.push_back(static_cast<int64_t>(split.tokens.size()));
    split.sample_hash.push_back(static_cast<uint64_t>(i));
  }
  return split;
}

TEST(BatchTest, HidesAboutItsShareAndAtLeastOneEach) {
  const Split split = TextSplit();
  const BatchMaker maker(split, Objective::kMlm, 1);
  std::vector<int64_t> all(200);
  for (int64_t i = 0; i < 200; ++i) all[static_cast<size_t>(i)] = i;
  const Batch batch = maker.Make(all, 0);
  EXPECT_EQ(batch.tokens.size(0), 200);
  EXPECT_EQ(batch.tokens.size(1), 20);
  const int64_t hidden = batch.predict_at.numel();
  EXPECT_EQ(batch.tokens.eq(kMaskToken).sum().item<int64_t>(), hidden);
  EXPECT_EQ(batch.tokens.eq(kMaskToken).any(1).sum().item<int64_t>(), 200);
  EXPECT_GT(hidden, 2100 * 0.15);
  EXPECT_LT(hidden, 2100 * 0.25);
  // What stood there is kept, at its place.
  for (int64_t k = 0; k < hidden; ++k) {
    const int64_t at = batch.predict_at[k].item<int64_t>();
    EXPECT_EQ(batch.targets[k].item<int64_t>(), 3 + at / 20 + at % 20);
  }
  EXPECT_EQ(batch.mask.sum().item<int64_t>(), static_cast<int64_t>(split.tokens.size()));
  // The same in another company, another in another round.
  const std::vector<int64_t> some{19, 39};
  EXPECT_TRUE(maker.Make(some, 0).tokens[1].equal(batch.tokens[39]));
  EXPECT_FALSE(maker.Make(all, 1).tokens.equal(batch.tokens));
}

TEST(BatchTest, CutsByLengthAndLosesNothing) {
  const Split split = TextSplit();
  const BatchMaker maker(split, Objective::kClassification, 1);
  const auto parts = maker.Cut({5, 19, 0, 39, 20, 7}, 2);
  ASSERT_EQ(parts.size(), 3u);
  std::multiset<int64_t> seen;
  for (const auto& part : parts) {
    EXPECT_LE(part.size(), 2u);
    seen.insert(part.begin(), part.end());
  }
  EXPECT_EQ(seen, (std::multiset<int64_t>{0, 5, 7, 19, 20, 39}));
}

TEST(BatchTest, NextTokens) {
  Split split;
  split.tokens = {5, 6, 7, 8, 9, 10};
  split.token_offsets = {0, 3, 4, 6};
  split.sample_hash = {0, 1, 2};
  const Batch batch = BatchMaker(split, Objective::kClm, 0).Make(std::vector<int64_t>{0, 1, 2}, 0);
  EXPECT_TRUE(batch.tokens.equal(at::tensor({5, 6, 7, 8, 0, 0, 9, 10, 0}, at::kLong).view({3, 3})));
  EXPECT_TRUE(batch.predict_at.equal(at::tensor({0, 1, 6}, at::kLong)));
  EXPECT_TRUE(batch.targets.equal(at::tensor({6, 7, 10}, at::kLong)));
}

class CountingWindows final : public TokenWindows {
 public:
  int64_t size() const override { return 3; }
  int64_t window_tokens() const override { return 4; }
  absl::Status Read(int64_t index, std::span<int32_t> out) const override {
    if (index == 2) return absl::InvalidArgumentError("t.bin: offset 16: token 70000");
    for (size_t j = 0; j < out.size(); ++j) out[j] = static_cast<int32_t>(10 * index + static_cast<int64_t>(j));
    return absl::OkStatus();
  }
};

TEST(BatchTest, WindowsPredictTheTokenBehindThem) {
  Split split;
  split.windows = std::make_shared<CountingWindows>();
  const BatchMaker maker(split, Objective::kClm, 0);
  const Batch batch = maker.Make(std::vector<int64_t>{1, 0}, 0);
  EXPECT_TRUE(batch.tokens.equal(at::tensor({10, 11, 12, 13, 0, 1, 2, 3}, at::kLong).view({2, 4})));
  EXPECT_TRUE(batch.predict_at.equal(at::arange(8)));
  EXPECT_TRUE(batch.targets.equal(at::tensor({11, 12, 13, 14, 1, 2, 3, 4}, at::kLong)));
  EXPECT_FALSE(batch.mask.defined());
  EXPECT_THROW(maker.Make(std::vector<int64_t>{2}, 0), NoRetryError);
}

TEST(BatchTest, NoiseIsStandardNormalAndAFunctionOfItsPlace) {
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    const double draw = NoiseDraw(3, 1, i / 100, i % 100);
    ASSERT_TRUE(std::isfinite(draw));
    sum += draw;
    squares += draw * draw;
  }
  EXPECT_NEAR(sum / kDraws, 0, 4 / std::sqrt(kDraws));  // four standard errors
  EXPECT_NEAR(squares / kDraws, 1, 4 * std::sqrt(2.0 / kDraws));
  Split split;
  split.feature_dim = 2;
  split.features = {1, 2, 3, 4};
  split.sample_hash = {0, 1};
  const BatchMaker maker(split, Objective::kDenoising, 9);
  const Batch batch = maker.Make(std::vector<int64_t>{1, 0}, 5);
  EXPECT_TRUE(batch.clean.equal(at::tensor({3.0F, 4.0F, 1.0F, 2.0F}).view({2, 2})));
  EXPECT_FLOAT_EQ(batch.features[1][1].item<float>(), 2 + kNoise * NoiseDraw(9, 5, 0, 1));
}

std::string PlanError(const std::vector<TensorShape>& model, const std::vector<TensorShape>& file,
                      const std::vector<std::string>& reinit = {}) {
  const auto plan = PlanLoad(model, file, {"head.", "mlm."}, reinit);
  return plan.ok() ? plan->ToString() : std::string(plan.status().message());
}

TEST(PlanLoadTest, Rules) {
  const std::vector<TensorShape> model{{"a", {2, 3}}, {"head.w", {4}}};
  EXPECT_EQ(PlanError(model, {{"a", {2, 3}}, {"head.w", {4}}}), "loaded 2 of 2 tensors");
  EXPECT_EQ(PlanError(model, {{"a", {2, 3}}, {"mlm.b", {9}}}), "loaded 1 of 2 tensors; fresh: head.w; not used: mlm.b");
  EXPECT_THAT(PlanError(model, {{"a", {2, 4}}, {"head.w", {4}}}),
              HasSubstr("tensor \"a\" has the shape [2, 4], the model needs [2, 3]"));
  EXPECT_THAT(PlanError(model, {{"a", {2, 3}}, {"head.w", {5}}}), HasSubstr("tensor \"head.w\" has the shape [5]"));
  EXPECT_EQ(PlanError(model, {{"a", {2, 3}}, {"head.w", {5}}}, {"head.*"}),
            "loaded 1 of 2 tensors; fresh: head.w; not used: head.w");
  EXPECT_THAT(PlanError(model, {{"head.w", {4}}}), HasSubstr("no tensor \"a\" [2, 3]"));
  EXPECT_EQ(PlanError(model, {{"head.w", {4}}}, {"a"}), "loaded 1 of 2 tensors; fresh: a");
  EXPECT_THAT(PlanError(model, {{"a", {2, 3}}, {"b", {1}}}), HasSubstr("tensor \"b\" [1] has no place in the model"));
}

}  // namespace
}  // namespace ddp
