// Steps that are read late give the very numbers and weights of steps that are read at once.
#include "worker/train/late_steps.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "worker/train/testing.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Pair;

at::Tensor Sums(double loss, double count) { return at::tensor({loss, 2.0, count, 0.0}, at::kDouble); }

TEST(LateStepsTest, PacksAShare) {
  const LateSteps late(at::kCPU);
  const LocalSums local{
      .loss = at::scalar_tensor(0.5, at::kDouble), .correct = at::scalar_tensor(3, at::kLong), .count = 4};
  EXPECT_TRUE(late.Pack(local, false).equal(at::tensor({0.5, 3.0, 4.0, 0.0}, at::kDouble)));
  EXPECT_TRUE(late.Pack(local, true).equal(at::tensor({0.5, 3.0, 4.0, 1.0}, at::kDouble)));
}

TEST(LateStepsTest, ReadsOneBehind) {
  LateSteps late(at::kCPU);
  EXPECT_FALSE(late.Read(0));
  late.Launched(7, {.samples = 32, .tokens = 400}, 0.1, at::tensor({1.5, 2.0, 4.0, 0.0}, at::kDouble),
                at::scalar_tensor(0.25F));
  EXPECT_FALSE(late.Read(1));
  late.Launched(8, {.samples = 16}, 0.2, at::tensor({3.0, 1.0, 2.0, 2.0}, at::kDouble), at::scalar_tensor(INFINITY));
  std::optional<StepNumbers> done = late.Read(1);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->step, 7);
  EXPECT_EQ(done->size.samples, 32);
  EXPECT_EQ(done->size.tokens, 400);
  EXPECT_EQ(done->lr, 0.1);
  EXPECT_EQ(done->sums.loss, 1.5);
  EXPECT_EQ(done->sums.correct, 2);
  EXPECT_EQ(done->sums.count, 4);
  EXPECT_EQ(done->norm, 0.25);
  EXPECT_FALSE(done->stop);
  EXPECT_FALSE(late.Read(1));
  done = late.Read(0);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->step, 8);
  EXPECT_EQ(done->norm, INFINITY);
  EXPECT_TRUE(done->stop);
  EXPECT_FALSE(late.Read(0));
}

TEST(LateStepsTest, HoldsWhatIsNotFiniteForGood) {
  const at::Tensor one = at::scalar_tensor(1.0F);
  for (const auto& [loss, norm] : std::vector<std::pair<double, float>>{
           {NAN, 1.0F}, {INFINITY, 1.0F}, {1, NAN}, {1, -INFINITY}, {INFINITY, -INFINITY}}) {
    LateSteps late(at::kCPU);
    EXPECT_EQ(late.Hold(Sums(1, 4), one).item<float>(), 0);
    EXPECT_EQ(late.Hold(Sums(loss, 4), at::scalar_tensor(norm)).item<float>(), 1) << loss << " " << norm;
    EXPECT_EQ(late.Hold(Sums(1, 4), one).item<float>(), 1) << loss << " " << norm;
  }
}

TEST(LateStepsTest, HoldsAStepThatCountsNothingOnlyOnce) {
  LateSteps late(at::kCPU);
  // 0 of a gradient by a count of 0.
  EXPECT_EQ(late.Hold(Sums(0, 0), at::scalar_tensor(NAN)).item<float>(), 1);
  EXPECT_EQ(late.Hold(Sums(1, 4), at::scalar_tensor(1.0F)).item<float>(), 0);
}

class LateTraining : public ::testing::TestWithParam<int> {};

TEST_P(LateTraining, HasTheSameNumbersAndWeights) {
  for (const OptimizerKind optimizer : {OptimizerKind::kAdam, OptimizerKind::kAdamW, OptimizerKind::kSgd}) {
    for (const double clip : {0.0, 0.05}) {
      Job job;
      job.training.optimizer = optimizer;
      job.training.clip = clip;
      job.training.momentum = 0.9;
      job.training.weight_decay = 0.01;
      // With what lies between steps: validation, checkpoints, histograms.
      job.training.valid_every = 3;
      job.training.checkpoint_every = 2;
      job.training.watch_every = 5;
      const Trained at_once = Train(job, {.world_size = GetParam()});
      ASSERT_EQ(at_once.points.at("loss").size(), 12u);
      EXPECT_EQ(at_once.updates, 12);
      const Trained late = Train(job, {.world_size = GetParam(), .late = true});
      ExpectSame(late, at_once);
      EXPECT_EQ(late.saved.step, 12);
      EXPECT_EQ(late.saved.epoch, 3);
      EXPECT_EQ(late.saved.valid_loss, at_once.saved.valid_loss);
    }
  }
}

TEST_P(LateTraining, FailsWithTheWeightsOfTheLastFiniteStep) {
  // 60 samples in batches of 16: whichever step of the first epoch has sample 30, it fails by that step's name.
  Job job;
  job.bad_sample = 30;
  const Trained at_once = Train(job, {.world_size = GetParam()});
  EXPECT_THAT(at_once.error, HasSubstr("at step"));
  const Trained late = Train(job, {.world_size = GetParam(), .late = true});
  ExpectSame(late, at_once);
  const auto& losses = late.points.at("loss");
  EXPECT_EQ(static_cast<int64_t>(losses.size()), late.updates + 1);
  EXPECT_FALSE(std::isfinite(losses.back().second));
}

TEST_P(LateTraining, StopsAStepLaterAndKnowsIt) {
  Job job;
  job.stop = true;
  Trained result = Train(job, {.world_size = GetParam()});
  EXPECT_FALSE(result.result.completed);
  EXPECT_EQ(result.result.step, 1);
  result = Train(job, {.world_size = GetParam(), .late = true});
  EXPECT_FALSE(result.result.completed);
  EXPECT_EQ(result.result.step, 2);
  EXPECT_EQ(result.saved.step, 2);
  EXPECT_EQ(result.saved.position, 32);
  EXPECT_EQ(result.updates, 2);
  EXPECT_THAT(result.points.at("lr"), ElementsAre(Pair(1, 0.01), Pair(2, 0.01)));
}

TEST_P(LateTraining, GoesOnFromWhereItStopped) {
  Job job;
  const Trained whole = Train(job, {.world_size = GetParam(), .late = true});
  job.stop = true;
  const Trained head = Train(job, {.world_size = GetParam(), .late = true});
  job.stop = false;
  const Trained tail = Train(job, {.world_size = GetParam(), .late = true, .from = &head});
  EXPECT_TRUE(SameBits(tail.weights, whole.weights));
  EXPECT_TRUE(SameBits(tail.moments, whole.moments));
  EXPECT_EQ(tail.updates, 12);
  ExpectSamePoints("train_loss", tail.points.at("train_loss"), whole.points.at("train_loss"));
  EXPECT_THAT(tail.points.at("loss"),
              ElementsAreArray(whole.points.at("loss").begin() + 2, whole.points.at("loss").end()));
}

INSTANTIATE_TEST_SUITE_P(Ranks, LateTraining, ::testing::Values(1, 2));

}  // namespace
}  // namespace ddp
