// A small job trained inside a test, with all of the trainer but no daemon and no files.
#ifndef DDP_WORKER_TRAIN_TESTING_H_
#define DDP_WORKER_TRAIN_TESTING_H_

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/rendezvous.h"
#include "worker/report/played_runner.h"
#include "worker/train/errors.h"
#include "worker/train/trainer.h"

namespace ddp {

// Sixty points in eight dimensions, three classes, by an easy formula; one value of sample `bad` is infinite.
inline Split Points(int64_t n, int64_t bad) {
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

struct How {
  int world_size = 1;
  bool late = false;  // Plan::read_late, forced
  bool cuda = false;
  const Trained* from = nullptr;  // a run that was stopped, to go on from
};

inline Trained TrainRank(const Job& job, const WorkerConfig& config, const How& how) {
  PlayedRunner runner;
  if (job.stop) runner.AskForStop();
  const std::unique_ptr<Group> group = Group::Join(config);
  Dataset data{.train = Points(60, job.bad_sample), .valid = Points(10, -1), .class_names = {"a", "b", "c"}};
  const ModelShape shape{.objective = Objective::kClassification, .features = 8, .classes = 3};
  auto model = *MakeModel(job.training.model_name, job.training.model_options, shape, 5);
  if (config.cuda) model->MoveTo(at::Device(at::kCUDA, 0));
  Optimizer optimizer(config.training, model->parameters());
  Plan plan = MakePlan(config, data, InputKind::kFeatures);
  EXPECT_EQ(plan.read_late, config.cuda);
  plan.read_late = how.late;
  plan.prefetch = how.late ? 4 : 0;
  Trained trained;
  TrainState state;
  if (how.from != nullptr) {
    state = how.from->saved;
    optimizer.set_steps(how.from->updates);
    const at::NoGradGuard no_grad;
    const NamedTensors weights = model->state();
    const NamedTensors moments = optimizer.state();
    for (size_t i = 0; i < weights.size(); ++i) weights[i].second.copy_(how.from->weights[i]);
    for (size_t i = 0; i < moments.size(); ++i) moments[i].second.copy_(how.from->moments[i]);
  }
  int64_t saved_step = how.from != nullptr ? state.step : -1;
  Trainer trainer({config, plan, data, *model, optimizer, *group, runner.link(),
                   [&](const TrainState& now) {
                     trained.saved = now;
                     saved_step = now.step;
                     // A checkpoint tells how many updates its moments have seen.
                     EXPECT_EQ(optimizer.steps(), now.step);
                   },
                   [&]() -> absl::StatusOr<int64_t> { return saved_step; }, [] { return TrainState{}; }},
                  state, saved_step);
  try {
    trained.result = trainer.Run();
  } catch (const NoRetryError& e) {
    trained.error = e.what();
  }
  for (const auto& [name, tensor] : model->state()) trained.weights.push_back(tensor.detach().cpu().clone());
  for (const auto& [name, tensor] : optimizer.state()) trained.moments.push_back(tensor.cpu().clone());
  trained.updates = optimizer.steps();
  group->Barrier();
  trained.points = runner.Finish();
  return trained;
}

// What rank 0 says of it.
inline Trained Train(const Job& job, const How& how) {
  StoreSocket store = *BindStore();
  const UniqueFd memory = *MakeSharedMemory(how.world_size);
  std::vector<Trained> all(static_cast<size_t>(how.world_size));
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < how.world_size; ++rank) {
    WorkerConfig config{.training = job.training, .rank = rank, .world_size = how.world_size, .store_port = store.port};
    config.cuda = how.cuda;
    if (how.cuda) config.backend = BackendKind::kNccl;
    config.store_fd = rank == 0 ? store.fd.release() : -1;
    config.shm_fd = memory.get();
    ranks.emplace_back(
        [&all, &job, &how, config] { all[static_cast<size_t>(config.rank)] = TrainRank(job, config, how); });
  }
  for (std::thread& rank : ranks) rank.join();
  return all[0];
}

inline bool SameBits(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].nbytes() != b[i].nbytes() || std::memcmp(a[i].const_data_ptr(), b[i].const_data_ptr(), a[i].nbytes()) != 0)
      return false;
  }
  return true;
}

// To the bit, so that NaN is equal to NaN.
inline void ExpectSamePoints(const std::string& series, const std::vector<std::pair<int64_t, double>>& a,
                             const std::vector<std::pair<int64_t, double>>& b) {
  ASSERT_EQ(a.size(), b.size()) << series;
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].first, b[i].first) << series;
    EXPECT_EQ(std::bit_cast<uint64_t>(a[i].second), std::bit_cast<uint64_t>(b[i].second))
        << series << " " << a[i].first;
  }
}

inline void ExpectSame(const Trained& late, const Trained& at_once) {
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

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_TESTING_H_
