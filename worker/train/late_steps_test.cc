// Steps that are read late give the very numbers and weights of steps that are read at once.
#include "worker/train/late_steps.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <thread>

#include "common/rendezvous.h"
#include "worker/report/played_runner.h"
#include "worker/train/errors.h"
#include "worker/train/trainer.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;
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
  late.Launched(7, 32, 0.1, at::tensor({1.5, 2.0, 4.0, 0.0}, at::kDouble), at::scalar_tensor(0.25F));
  EXPECT_FALSE(late.Read(1));
  late.Launched(8, 16, 0.2, at::tensor({3.0, 1.0, 2.0, 2.0}, at::kDouble), at::scalar_tensor(INFINITY));
  std::optional<StepNumbers> done = late.Read(1);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->step, 7);
  EXPECT_EQ(done->samples, 32);
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

// Sixty points in eight dimensions, three classes, by an easy formula; one value of sample `bad` is infinite.
Split Points(int64_t n, int64_t bad) {
  Split split;
  split.feature_dim = 8;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < 8; ++j) split.features.push_back(std::sin(static_cast<float>(i * 8 + j)));
    if (i == bad) split.features.back() = INFINITY;
    split.classes.push_back(i % 3);
    split.sample_hash.push_back(static_cast<uint64_t>(i));
  }
  return split;
}

struct Trained {
  PlayedRunner::Points points;
  std::string error;
  TrainResult result;
  TrainState saved;
  std::vector<at::Tensor> weights;
  std::vector<at::Tensor> moments;
  int64_t updates = 0;
};

struct Job {
  TrainingConfig training{.objective = Objective::kClassification,
                          .model_name = "mlp",
                          .model_options = {{"hidden", "16"}},
                          .epochs = 3,
                          .batch_size = 16,
                          .lr = 0.01};
  int64_t bad_sample = -1;
  bool stop = false;  // asked for before the first step
};

Trained TrainRank(const Job& job, WorkerConfig config, bool late) {
  PlayedRunner runner;
  if (job.stop) runner.AskForStop();
  const std::unique_ptr<Group> group = Group::Join(config);
  Dataset data{.train = Points(60, job.bad_sample), .valid = Points(10, -1), .class_names = {"a", "b", "c"}};
  const ModelShape shape{.objective = Objective::kClassification, .features = 8, .classes = 3};
  auto model = *MakeModel(job.training.model_name, job.training.model_options, shape, 5);
  Optimizer optimizer(config.training, model->parameters());
  Plan plan = MakePlan(config, data, InputKind::kFeatures);
  EXPECT_FALSE(plan.read_late);
  plan.read_late = late;
  plan.prefetch = late ? 4 : 0;
  Trained trained;
  int64_t saved_step = -1;
  Trainer trainer({config, plan, data, *model, optimizer, *group, runner.link(),
                   [&](const TrainState& state) {
                     trained.saved = state;
                     saved_step = state.step;
                     // A checkpoint tells how many updates its moments have seen.
                     EXPECT_EQ(optimizer.steps(), state.step);
                   },
                   [&]() -> absl::StatusOr<int64_t> { return saved_step; }, [] { return TrainState{}; }},
                  TrainState{}, -1);
  try {
    trained.result = trainer.Run();
  } catch (const NoRetryError& e) {
    trained.error = e.what();
  }
  for (const auto& [name, tensor] : model->state()) trained.weights.push_back(tensor.detach().clone());
  for (const auto& [name, tensor] : optimizer.state()) trained.moments.push_back(tensor.clone());
  trained.updates = optimizer.steps();
  group->Barrier();
  trained.points = runner.Finish();
  return trained;
}

// What rank 0 says of it.
Trained Train(const Job& job, int world_size, bool late) {
  StoreSocket store = *BindStore();
  const UniqueFd memory = *MakeSharedMemory(world_size);
  std::vector<Trained> all(static_cast<size_t>(world_size));
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    WorkerConfig config{.training = job.training, .rank = rank, .world_size = world_size, .store_port = store.port};
    config.store_fd = rank == 0 ? store.fd.release() : -1;
    config.shm_fd = memory.get();
    ranks.emplace_back(
        [&all, &job, config, late] { all[static_cast<size_t>(config.rank)] = TrainRank(job, config, late); });
  }
  for (std::thread& rank : ranks) rank.join();
  return all[0];
}

bool SameBits(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].nbytes() != b[i].nbytes() || std::memcmp(a[i].const_data_ptr(), b[i].const_data_ptr(), a[i].nbytes()) != 0)
      return false;
  }
  return true;
}

// To the bit, so that NaN is equal to NaN.
void ExpectSamePoints(const std::string& series, const std::vector<std::pair<int64_t, double>>& a,
                      const std::vector<std::pair<int64_t, double>>& b) {
  ASSERT_EQ(a.size(), b.size()) << series;
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].first, b[i].first) << series;
    EXPECT_EQ(std::bit_cast<uint64_t>(a[i].second), std::bit_cast<uint64_t>(b[i].second))
        << series << " " << a[i].first;
  }
}

void ExpectSame(const Trained& late, const Trained& at_once) {
  for (const char* series : {"loss", "acc", "lr", "grad_norm", "train_loss", "train_acc", "valid_loss", "epoch"}) {
    const bool has = at_once.points.contains(series);
    ASSERT_EQ(late.points.contains(series), has) << series;
    if (!has) continue;
    ExpectSamePoints(series, late.points.at(series), at_once.points.at(series));
  }
  EXPECT_TRUE(SameBits(late.weights, at_once.weights));
  EXPECT_TRUE(SameBits(late.moments, at_once.moments));
  EXPECT_EQ(late.updates, at_once.updates);
  EXPECT_EQ(late.error, at_once.error);
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
      const Trained at_once = Train(job, GetParam(), false);
      ASSERT_EQ(at_once.points.at("loss").size(), 12u);
      EXPECT_EQ(at_once.updates, 12);
      const Trained late = Train(job, GetParam(), true);
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
  const Trained at_once = Train(job, GetParam(), false);
  EXPECT_THAT(at_once.error, HasSubstr("at step"));
  const Trained late = Train(job, GetParam(), true);
  ExpectSame(late, at_once);
  const auto& losses = late.points.at("loss");
  EXPECT_EQ(static_cast<int64_t>(losses.size()), late.updates + 1);
  EXPECT_FALSE(std::isfinite(losses.back().second));
}

TEST_P(LateTraining, StopsAStepLaterAndKnowsIt) {
  Job job;
  job.stop = true;
  Trained result = Train(job, GetParam(), false);
  EXPECT_FALSE(result.result.completed);
  EXPECT_EQ(result.result.step, 1);
  result = Train(job, GetParam(), true);
  EXPECT_FALSE(result.result.completed);
  EXPECT_EQ(result.result.step, 2);
  EXPECT_EQ(result.saved.step, 2);
  EXPECT_EQ(result.saved.position, 32);
  EXPECT_EQ(result.updates, 2);
  EXPECT_THAT(result.points.at("lr"), ElementsAre(Pair(1, 0.01), Pair(2, 0.01)));
}

INSTANTIATE_TEST_SUITE_P(Ranks, LateTraining, ::testing::Values(1, 2));

}  // namespace
}  // namespace ddp
