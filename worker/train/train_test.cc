// Sampler, schedule, optimizer, batches and the loading of weights, against numbers of Python's torch 2.11 or made by
// hand.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "worker/train/batch.h"
#include "worker/train/initial_weights.h"
#include "worker/train/optimizer.h"
#include "worker/train/sampler.h"
#include "worker/train/schedule.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// list(DistributedSampler(range(n), num_replicas=1, rank=0, shuffle=True, seed=seed)) after set_epoch(epoch).
TEST(SamplerTest, OrderIsThatOfDistributedSampler) {
  EXPECT_THAT(EpochOrder(10, 0, 0), ElementsAre(4, 1, 7, 5, 3, 9, 0, 8, 6, 2));
  EXPECT_THAT(EpochOrder(10, 0, 1), ElementsAre(5, 6, 1, 2, 0, 8, 9, 3, 7, 4));
  EXPECT_THAT(EpochOrder(10, 7, 3), ElementsAre(7, 4, 6, 1, 3, 5, 9, 8, 2, 0));
  EXPECT_THAT(EpochOrder(1, 0, 0), ElementsAre(0));
  const std::vector<int64_t> large = EpochOrder(100000, 0, 0);
  EXPECT_EQ(std::vector<int64_t>(large.begin(), large.begin() + 5),
            (std::vector<int64_t>{36044, 73702, 76369, 2549, 52523}));
  EXPECT_EQ(large.back(), 84786);
}

TEST(SamplerTest, SharesAreThoseOfDistributedSampler) {
  // num_replicas=2: rank 0 has 4, 7, 3, 0, 6; rank 1 has 1, 5, 9, 8, 2.
  const std::vector<int64_t> order = EpochOrder(10, 0, 0);
  EXPECT_THAT(RankShare(order, 0, 10, 0, 2), ElementsAre(4, 7, 3, 0, 6));
  EXPECT_THAT(RankShare(order, 0, 10, 1, 2), ElementsAre(1, 5, 9, 8, 2));
}

TEST(SamplerTest, EverySampleOnceOnAnyNumberOfRanks) {
  for (int world = 1; world <= 7; ++world) {
    for (int64_t batch = 1; batch <= 12; ++batch) {
      const std::vector<int64_t> order = EpochOrder(11, 3, 0);
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

TEST(ScheduleTest, StepLr) {
  TrainingConfig config;
  const double right[] = {1e-3, 1e-3, 1e-3, 1e-4, 1e-4, 1e-4, 1e-5, 1e-5, 1e-5};
  for (int epoch = 0; epoch < 9; ++epoch) EXPECT_DOUBLE_EQ(LearningRate(config, epoch), right[epoch]);
  config.schedule = ScheduleKind::kConstant;
  EXPECT_EQ(LearningRate(config, 8), 1e-3);
}

// Three steps of torch.optim in float64 from [1, -2, 3] with the gradients below, lr 0.1.
std::vector<float> AfterThreeSteps(const TrainingConfig& config, double divisor) {
  at::Tensor p = at::tensor({1.0F, -2.0F, 3.0F}).set_requires_grad(true);
  Optimizer optimizer(config, {{"p", p}});
  for (const std::vector<float>& gradient : {std::vector<float>{.5F, -1, 2}, {.25F, .5F, -4}, {-1, 0, 1}}) {
    p.mutable_grad() = at::tensor(gradient) * divisor;
    optimizer.Step(0.1, divisor);
  }
  const at::Tensor host = p.detach().contiguous();
  return {host.const_data_ptr<float>(), host.const_data_ptr<float>() + 3};
}

TEST(OptimizerTest, GoldenValues) {
  struct Case {
    OptimizerKind kind;
    double weight_decay, momentum;
    std::vector<double> right;
  };
  for (const Case& c : {Case{OptimizerKind::kAdam, 0, 0, {0.827417743, -1.852778367, 2.950279419}},
                        Case{OptimizerKind::kAdam, .01, 0, {0.825847770, -1.847795499, 2.948349140}},
                        Case{OptimizerKind::kAdamW, .01, 0, {0.824713860, -1.847010899, 2.941451706}},
                        Case{OptimizerKind::kSgd, 0, 0, {1.025, -1.95, 3.1}},
                        Case{OptimizerKind::kSgd, .01, .9, {0.911609749, -1.813119498, 3.101544197}}}) {
    TrainingConfig config;
    config.optimizer = c.kind;
    config.weight_decay = c.weight_decay;
    config.momentum = c.momentum;
    for (const double divisor : {1.0, 8.0}) {
      const std::vector<float> got = AfterThreeSteps(config, divisor);
      for (size_t i = 0; i < 3; ++i)
        EXPECT_NEAR(got[i], c.right[i], 2e-6) << static_cast<int>(c.kind) << " " << divisor;
    }
  }
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
  const BatchMaker maker(split, Objective::kMlm, 1, at::kCPU);
  std::vector<int64_t> all(200);
  for (int64_t i = 0; i < 200; ++i) all[static_cast<size_t>(i)] = i;
  const Batch batch = maker.Make(all, 0);
  EXPECT_EQ(batch.tokens.size(0), 200);
  EXPECT_EQ(batch.tokens.size(1), 20);
  const int64_t hidden = batch.hidden_at.numel();
  EXPECT_EQ(batch.tokens.eq(kMaskToken).sum().item<int64_t>(), hidden);
  EXPECT_EQ(batch.tokens.eq(kMaskToken).any(1).sum().item<int64_t>(), 200);
  EXPECT_GT(hidden, 2100 * 0.15);
  EXPECT_LT(hidden, 2100 * 0.25);
  // What stood there is kept, at its place.
  for (int64_t k = 0; k < hidden; ++k) {
    const int64_t at = batch.hidden_at[k].item<int64_t>();
    EXPECT_EQ(batch.hidden_tokens[k].item<int64_t>(), 3 + at / 20 + at % 20);
  }
  EXPECT_EQ(batch.mask.sum().item<int64_t>(), static_cast<int64_t>(split.tokens.size()));
  // The same in another company, another in another round.
  const std::vector<int64_t> some{19, 39};
  EXPECT_TRUE(maker.Make(some, 0).tokens[1].equal(batch.tokens[39]));
  EXPECT_FALSE(maker.Make(all, 1).tokens.equal(batch.tokens));
}

TEST(BatchTest, CutsByLengthAndLosesNothing) {
  const Split split = TextSplit();
  const BatchMaker maker(split, Objective::kClassification, 1, at::kCPU);
  const auto parts = maker.Cut({5, 19, 0, 39, 20, 7}, 2);
  ASSERT_EQ(parts.size(), 3u);
  std::multiset<int64_t> seen;
  for (const auto& part : parts) {
    EXPECT_LE(part.size(), 2u);
    seen.insert(part.begin(), part.end());
  }
  EXPECT_EQ(seen, (std::multiset<int64_t>{0, 5, 7, 19, 20, 39}));
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
