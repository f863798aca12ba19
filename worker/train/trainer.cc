#include "worker/train/trainer.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "worker/train/errors.h"
#include "worker/train/evaluate.h"
#include "worker/train/mix.h"
#include "worker/train/parameter_check.h"
#include "worker/train/sampler.h"
#include "worker/train/schedule.h"

namespace ddp {

namespace {

constexpr std::chrono::milliseconds kReportEvery{100};
// Texts of a dozen tokens: the activations of this many stay in the cache (DESIGN 12).
constexpr int64_t kTextMicroBatch = 128;
constexpr int64_t kFeatureMicroBatch = 1024;
// A big step takes seconds. Every so many micro-batches the ranks agree on whether to drop it: nothing has been changed
// yet, and a resume begins with the same step.
constexpr int64_t kStopCheckRounds = 4;

// Randomness of a step (dropout) is a function of the seed, the step and the rank, so that a resume needs no stored
// state. (Mixed, because the generator uses only the low half of it.)
uint64_t StepSeed(uint64_t seed, int64_t step, int rank) {
  return Mix(seed, static_cast<uint64_t>(step), static_cast<uint64_t>(rank));
}

// A rank without a sample in the batch still has to take part in the reduction, with zeros.
at::Tensor ZeroLoss(const std::vector<at::Tensor>& parameters) {
  at::Tensor sum = at::zeros({}, parameters[0].options().requires_grad(false));
  for (const at::Tensor& p : parameters) sum = sum + (p * 0).sum();
  return sum;
}

}  // namespace

Plan MakePlan(const TrainingConfig& config, const Dataset& data, InputKind input, int world_size) {
  Plan plan;
  plan.train_samples = data.train.size();
  plan.valid_samples = data.valid.size();
  plan.batch_size = std::min(config.batch_size, plan.train_samples);
  const int64_t share = (plan.batch_size + world_size - 1) / world_size;
  const int64_t automatic = input == InputKind::kText ? kTextMicroBatch : kFeatureMicroBatch;
  plan.micro_batch = std::min(share, config.micro_batch > 0 ? config.micro_batch : automatic);
  plan.valid_micro_batch = automatic;
  plan.steps_per_epoch = StepsPerEpoch(plan.train_samples, plan.batch_size);
  plan.total_steps = plan.steps_per_epoch * config.epochs;
  if (config.max_steps > 0) plan.total_steps = std::min(plan.total_steps, config.max_steps);
  return plan;
}

Trainer::Trainer(const Parts& parts, TrainState state, int64_t saved_step)
    : parts_(parts),
      state_(state),
      saved_step_(saved_step),
      train_maker_(parts.data.train, parts.config.training.objective, parts.config.training.seed,
                   parts.model.parameters().front().second.device()),
      valid_maker_(parts.data.valid, parts.config.training.objective, parts.config.training.seed,
                   parts.model.parameters().front().second.device()),
      reducer_(parts.model.parameters(), parts.group),
      parameters_(parts.model.tensors()),
      loss_series_(parts.link.SeriesIndex("loss")),
      acc_series_(parts.link.SeriesIndex("acc")),
      lr_series_(parts.link.SeriesIndex("lr")),
      window_start_(std::chrono::steady_clock::now()) {
  progress_.total_steps = parts.plan.total_steps;
  progress_.epochs = parts.config.training.epochs;
  progress_.valid_loss = state.valid_loss;
  progress_.valid_accuracy = state.valid_accuracy;
}

TrainResult Trainer::Run() {
  const int64_t n = parts_.plan.train_samples;
  bool stopped = false;
  while (!stopped && !(AtLimit() && state_.position < n) && state_.epoch < parts_.config.training.epochs) {
    stopped = (state_.position < n && !TrainEpoch()) || (state_.position >= n && !FinishEpoch());
  }
  // A run that max_steps ends inside an epoch is validated, too: its last numbers are the ones people look at.
  const bool completed = !stopped;
  if (completed && state_.position > 0 && saved_step_ != state_.step) Validate();
  if (saved_step_ != state_.step) Save(/*required=*/true);
  ReportProgress();
  return {.completed = completed, .step = state_.step, .saved_step = saved_step_};
}

bool Trainer::TrainEpoch() {
  const TrainingConfig& training = parts_.config.training;
  const int64_t n = parts_.plan.train_samples;
  const std::vector<int64_t> order = EpochOrder(n, training.seed, state_.epoch);
  while (state_.position < n && !AtLimit()) {
    const int64_t end = std::min(n, state_.position + parts_.plan.batch_size);
    const int64_t samples = end - state_.position;
    const std::optional<StepSums> sums =
        Step(RankShare(order, state_.position, end, parts_.group.rank(), parts_.group.world_size()), samples);
    if (!sums) return false;
    state_.position = end;
    state_.epoch_loss += sums->loss;
    state_.epoch_correct += sums->correct;
    state_.epoch_count += sums->count;
    ReportStep(*sums, samples, LearningRate(training, state_.epoch));
    if (sums->stop) return false;
    if (training.valid_every > 0 && state_.step % training.valid_every == 0 && state_.position < n && !Validate()) {
      return false;
    }
    if (training.checkpoint_every > 0 && state_.step % training.checkpoint_every == 0 && state_.position < n) {
      Save(/*required=*/false);
    }
  }
  return true;
}

std::optional<Trainer::StepSums> Trainer::ForwardBackward(const std::vector<int64_t>& share, int64_t samples) {
  StepSums local;
  const std::vector<std::vector<int64_t>> parts = train_maker_.Cut(share, parts_.plan.micro_batch);
  // The largest share decides on the rounds; ranks with fewer micro-batches sit out the first ones, so that every rank
  // is in its last backward pass, which talks to the others, in the same round.
  const int64_t world = parts_.group.world_size();
  const int64_t rounds = StepsPerEpoch((samples + world - 1) / world, parts_.plan.micro_batch);
  const int64_t idle = rounds - static_cast<int64_t>(parts.size());
  for (int64_t round = 0; round < rounds; ++round) {
    if (round > 0 && round % kStopCheckRounds == 0 && parts_.group.Any(parts_.link.stop_requested()))
      return std::nullopt;
    const bool last = round + 1 == rounds;
    if (last) reducer_.BeforeForward();
    if (round < idle) {
      if (!last) continue;
      const at::Tensor zero = ZeroLoss(parameters_);
      reducer_.BeforeBackward();
      zero.backward();
      continue;
    }
    const Batch batch =
        train_maker_.Make(parts[static_cast<size_t>(round - idle)], static_cast<uint64_t>(state_.epoch));
    const LossSums sums = parts_.model.Loss(batch, /*training=*/true);
    if (last) reducer_.BeforeBackward();
    sums.loss.backward();
    local.loss += sums.loss.item<double>();
    local.count += static_cast<double>(sums.count);
    if (sums.correct.defined()) local.correct += static_cast<double>(sums.correct.item<int64_t>());
  }
  return local;
}

std::optional<Trainer::StepSums> Trainer::Step(const std::vector<int64_t>& share, int64_t samples) {
  at::manual_seed(StepSeed(parts_.config.training.seed, state_.step, parts_.group.rank()));
  ZeroGradients(parameters_);
  const std::optional<StepSums> local = ForwardBackward(share, samples);
  if (!local) return std::nullopt;
  std::array<double, 4> sums{local->loss, local->correct, local->count, parts_.link.stop_requested() ? 1.0 : 0.0};
  parts_.group.Sum(sums);
  const StepSums global{.loss = sums[0], .correct = sums[1], .count = sums[2], .stop = sums[3] > 0};
  if (!std::isfinite(global.loss)) {
    // Every rank has the same sum, so all of them leave here, before the update.
    if (rank0()) parts_.link.Metric(loss_series_, state_.step + 1, global.loss / global.count);
    throw NoRetryError(absl::StrCat("the loss is ", global.loss, " at step ", state_.step + 1,
                                    ": stopped before the update; the checkpoints hold only earlier, finite steps"));
  }
  parts_.optimizer.Step(LearningRate(parts_.config.training, state_.epoch), global.count);
  ++state_.step;
  return global;
}

void Trainer::Metric(const std::string& series, double value) {
  parts_.link.Metric(parts_.link.SeriesIndex(series), state_.step, value);
}

void Trainer::ReportStep(const StepSums& sums, int64_t samples, double lr) {
  if (!rank0()) return;
  const bool has_accuracy = parts_.config.training.objective == Objective::kClassification ||
                            parts_.config.training.objective == Objective::kMlm;
  progress_.step = state_.step;
  progress_.epoch = static_cast<int>(state_.epoch);
  progress_.loss = sums.loss / sums.count;
  progress_.lr = lr;
  if (has_accuracy) progress_.accuracy = sums.correct / sums.count;
  parts_.link.Metric(loss_series_, state_.step, progress_.loss);
  if (has_accuracy) parts_.link.Metric(acc_series_, state_.step, *progress_.accuracy);
  parts_.link.Metric(lr_series_, state_.step, lr);
  if (!first_step_reported_) {
    first_step_reported_ = true;
    parts_.link.FirstStep(state_.step);
  }
  window_samples_ += samples;
  const auto now = std::chrono::steady_clock::now();
  if (now - window_start_ < kReportEvery) return;
  progress_.samples_per_second =
      static_cast<double>(window_samples_) / std::chrono::duration<double>(now - window_start_).count();
  Metric("samples_per_second", progress_.samples_per_second);
  window_start_ = now;
  window_samples_ = 0;
  ReportProgress();
}

void Trainer::ReportProgress() {
  if (rank0()) parts_.link.Progress(progress_);
}

bool Trainer::Validate() {
  if (parts_.plan.valid_samples == 0) return true;
  if (rank0()) parts_.link.Phase("validating");
  bool stop = false;
  const std::optional<Evaluation> result =
      Evaluate(parts_.model, valid_maker_, parts_.plan.valid_samples, parts_.plan.valid_micro_batch, parts_.group, [&] {
        stop = stop || parts_.link.stop_requested();
        return stop;
      });
  if (rank0()) parts_.link.Phase("training");
  if (!result) return false;
  state_.valid_loss = progress_.valid_loss = result->loss;
  state_.valid_accuracy = progress_.valid_accuracy = result->accuracy;
  if (rank0()) {
    Metric("valid_loss", result->loss);
    if (result->accuracy) Metric("valid_acc", *result->accuracy);
  }
  // Validation is no training time: it must not show as a dip of the throughput.
  window_start_ = std::chrono::steady_clock::now();
  window_samples_ = 0;
  return true;
}

bool Trainer::FinishEpoch() {
  if (!Validate()) return false;
  if (rank0()) {
    Metric("train_loss", state_.epoch_loss / state_.epoch_count);
    if (progress_.accuracy) Metric("train_acc", state_.epoch_correct / state_.epoch_count);
    Metric("epoch", static_cast<double>(state_.epoch));
    for (const auto& [name, value] : parts_.model.Diagnostics()) Metric(name, value);
    ReportProgress();
  }
  ++state_.epoch;
  state_.position = 0;
  state_.epoch_loss = state_.epoch_correct = state_.epoch_count = 0;
  Save(/*required=*/false);
  return true;
}

void Trainer::Save(bool required) {
  CheckSameParameters(parts_.model, parts_.group, state_.step);
  std::string error;
  if (rank0()) {
    parts_.link.Phase("saving");
    const absl::StatusOr<std::string> folder = parts_.save(state_);
    if (folder.ok()) {
      parts_.link.CheckpointSaved(state_.step, *folder);
    } else {
      error = absl::StrCat("cannot save step ", state_.step, ": ", std::string(folder.status().message()));
    }
    parts_.link.Phase("training");
  }
  // What is saved decides what is done next, on every rank.
  if (!parts_.group.Any(!error.empty())) {
    saved_step_ = state_.step;
    return;
  }
  if (required && rank0()) throw std::runtime_error(error);
  if (required) throw PeerLostError("rank 0 could not save");
  if (!rank0()) return;
  absl::StrAppend(&error, "; the older checkpoints stay, and training goes on");
  std::fprintf(stderr, "%s\n", error.c_str());
  parts_.link.Notice(error);
}

}  // namespace ddp
