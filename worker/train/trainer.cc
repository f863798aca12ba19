#include "worker/train/trainer.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "worker/train/autocast.h"
#include "worker/train/errors.h"
#include "worker/train/evaluate.h"
#include "worker/train/parameter_check.h"
#include "worker/train/sample_texts.h"
#include "worker/train/sampler.h"
#include "worker/train/schedule.h"
#include "worker/train/step_seed.h"
#include "worker/train/watch.h"

namespace ddp {

namespace {

constexpr std::chrono::milliseconds kReportEvery{100};
// Texts of a dozen tokens: the activations of this many stay in the cache (DESIGN 12). Of longer ones, fewer.
constexpr int64_t kTextMicroBatch = 128;
constexpr int64_t kMicroBatchTokens = 4096;
constexpr int64_t kFeatureMicroBatch = 1024;
// Images of 28 x 28; of bigger ones, fewer.
constexpr int64_t kImageMicroBatch = 64;
constexpr int64_t kMicroBatchPixels = kImageMicroBatch * 28 * 28;
constexpr int kPrefetch = 4;
// Skipped steps that are told of one by one; the series skipped_steps has all of them.
constexpr int kSkipsTold = 3;
// A big step takes seconds. Every so many micro-batches the ranks agree on whether to drop it: nothing has been changed
// yet, and a resume begins with the same step.
constexpr int64_t kStopCheckRounds = 4;

std::vector<at::Tensor> Copies(const NamedTensors& tensors) {
  std::vector<at::Tensor> copies;
  for (const auto& [name, tensor] : tensors) copies.push_back(tensor.clone());
  return copies;
}

// A rank without a sample in the batch still has to take part in the reduction, with zeros.
at::Tensor ZeroLoss(const std::vector<at::Tensor>& parameters) {
  at::Tensor sum = at::zeros({}, parameters[0].options().requires_grad(false));
  for (const at::Tensor& p : parameters) sum = sum + (p * 0).sum();
  return sum;
}

int64_t AutomaticMicroBatch(const TrainingConfig& config, const Dataset& data, InputKind input) {
  switch (input) {
    case InputKind::kText:
      return std::clamp<int64_t>(kMicroBatchTokens / config.data.max_tokens, 1, kTextMicroBatch);
    case InputKind::kImages:
      return std::clamp<int64_t>(kMicroBatchPixels / std::max<int64_t>(1, data.image.height * data.image.width), 1,
                                 kImageMicroBatch);
    case InputKind::kFeatures:
      return kFeatureMicroBatch;
  }
  return kFeatureMicroBatch;
}

}  // namespace

Plan MakePlan(const WorkerConfig& worker, const Dataset& data, InputKind input) {
  const TrainingConfig& config = worker.training;
  Plan plan;
  plan.train_samples = data.train.size();
  plan.valid_samples = data.valid.size();
  plan.batch_size = std::min(config.batch_size, plan.train_samples);
  const int64_t automatic = AutomaticMicroBatch(config, data, input);
  const int64_t share = ShareSize(plan.batch_size, 0, worker.world_size);
  plan.micro_batch = std::min(share, config.micro_batch > 0 ? config.micro_batch : automatic);
  plan.valid_micro_batch = automatic;
  plan.steps_per_epoch = StepsPerEpoch(plan.train_samples, plan.batch_size);
  plan.total_steps = plan.steps_per_epoch * config.epochs;
  if (config.max_steps > 0) plan.total_steps = std::min(plan.total_steps, config.max_steps);
  // On CPUs a thread that makes batches only takes time from the one that trains, unless it waits for a disk.
  if (worker.cuda || data.train.windows) plan.prefetch = kPrefetch;
  // On a CPU there is nothing to wait for. The policies skip and rollback undo things, so they need to know at once.
  plan.read_late = worker.cuda && config.nan_policy == NanPolicy::kStop;
  return plan;
}

Trainer::Trainer(const Parts& parts, TrainState state, int64_t saved_step)
    : parts_(parts),
      state_(std::move(state)),
      resumed_step_(saved_step),
      late_(parts.model.device()),
      train_maker_(parts.data.train, parts.config.training.objective, parts.config.training.seed),
      valid_maker_(parts.data.valid, parts.config.training.objective, parts.config.training.seed),
      copier_(parts.model.device()),
      reducer_(parts.model.parameters(), parts.group),
      parameters_(parts.model.tensors()),
      loss_series_(parts.link.SeriesIndex("loss")),
      acc_series_(parts.link.SeriesIndex("acc")),
      lr_series_(parts.link.SeriesIndex("lr")),
      norm_series_(parts.link.SeriesIndex("grad_norm")),
      window_start_(std::chrono::steady_clock::now()) {
  MakeGradients(parameters_);
  progress_.total_steps = parts.plan.total_steps;
  progress_.epochs = parts.config.training.epochs;
  progress_.valid_loss = state_.valid_loss;
  progress_.valid_accuracy = state_.valid_accuracy;
}

TrainResult Trainer::Run() {
  const int64_t n = parts_.plan.train_samples;
  // The policy rollback needs a place to go back to.
  if (parts_.config.training.nan_policy == NanPolicy::kRollback && resumed_step_ < 0) Save();
  bool stopped = false;
  while (!stopped && !(AtLimit() && state_.position < n) && state_.epoch < parts_.config.training.epochs &&
         !EndsEarly()) {
    if (state_.position < n) stopped = TrainEpoch() == Outcome::kStopped;
    if (!stopped && state_.position >= n) stopped = !FinishEpoch();
  }
  // A run that max_steps ends inside an epoch is validated, too: its last numbers are the ones people look at.
  const bool completed = !stopped;
  if (completed && state_.position > 0 && resumed_step_ != state_.step && Validate()) NoteBest();
  EnsureSaved();
  ReportProgress();
  return {.completed = completed, .step = state_.step, .saved_step = state_.step};
}

Prefetcher::Maker Trainer::MicroBatches(const std::vector<int32_t>& order) const {
  return [this, &order, epoch = static_cast<uint64_t>(state_.epoch), position = state_.position,
          parts = std::vector<std::vector<int64_t>>{}, next = size_t{0}]() mutable -> std::optional<Batch> {
    const Plan& plan = parts_.plan;
    // A small last batch may leave this rank without a sample.
    while (next == parts.size()) {
      if (position >= plan.train_samples) return std::nullopt;
      const int64_t end = std::min(plan.train_samples, position + plan.batch_size);
      parts = train_maker_.Cut(RankShare(order, position, end, parts_.group.rank(), parts_.group.world_size()),
                               plan.micro_batch);
      position = end;
      next = 0;
    }
    return train_maker_.Make(parts[next++], epoch);
  };
}

Trainer::Outcome Trainer::TrainEpoch() {
  const TrainingConfig& training = parts_.config.training;
  const int64_t n = parts_.plan.train_samples;
  const std::vector<int32_t> order = EpochOrder(n, training.seed, state_.epoch);
  Prefetcher batches(MicroBatches(order), parts_.plan.prefetch, copier_);
  while (state_.position < n && !AtLimit()) {
    const int64_t end = std::min(n, state_.position + parts_.plan.batch_size);
    StepSize size{.samples = end - state_.position};
    if (rank0()) size.tokens = train_maker_.CountTokens(std::span(order).subspan(state_.position, size.samples));
    times_.Begin();
    parts_.group.TakeSumTime();  // of what came between the steps
    const Outcome outcome = IsLeftOut(state_.step + 1) ? LeaveOut(batches, size.samples) : Step(batches, size);
    if (outcome != Outcome::kDone) return outcome;
    state_.position = end;
    // Run and FinishEpoch do both at the end.
    const bool at_end = state_.position == n || AtLimit();
    const bool validates = !at_end && training.valid_every > 0 && state_.step % training.valid_every == 0;
    const bool saves = !at_end && training.checkpoint_every > 0 && state_.step % training.checkpoint_every == 0;
    // What comes between two steps needs to know of all before it.
    if (stop_agreed_ || at_end || validates || saves) ReadLaunched(0);
    times_.End();
    times_.Reduced(parts_.group.TakeSumTime());
    if (stop_agreed_) return Outcome::kStopped;
    if (validates && !Validate()) return Outcome::kStopped;
    if (saves) Save();
  }
  return Outcome::kDone;
}

int64_t Trainer::Rounds(int64_t samples, int rank) const {
  return StepsPerEpoch(ShareSize(samples, rank, parts_.group.world_size()), parts_.plan.micro_batch);
}

std::optional<LocalSums> Trainer::ForwardBackward(Prefetcher& batches, int64_t samples) {
  // The largest share decides on the rounds; ranks with fewer micro-batches sit out the first ones, so that every rank
  // is in its last backward pass, which talks to the others, in the same round.
  const int64_t rounds = Rounds(samples, 0);
  const int64_t idle = rounds - Rounds(samples, parts_.group.rank());
  const at::Device device = parts_.model.device();
  // Summed where they are made: reading them in each round would wait for the device.
  LocalSums local{.loss = at::zeros({}, at::TensorOptions(at::kDouble).device(device)),
                  .correct = at::zeros({}, at::TensorOptions(at::kLong).device(device))};
  const AutocastCache cache;
  for (int64_t round = 0; round < rounds; ++round) {
    if (!parts_.plan.read_late && round > 0 && round % kStopCheckRounds == 0 &&
        parts_.group.Any(parts_.link.stop_requested()))
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
    times_.Enter(StepTimes::Part::kData);
    const std::optional<Batch> batch = batches.Next();
    times_.Enter(StepTimes::Part::kCompute);
    LossSums sums;
    {
      const Autocast autocast(parts_.config.training.bf16, device.type());
      sums = parts_.model.Loss(*batch, /*training=*/true);
    }
    if (last) reducer_.BeforeBackward();
    sums.loss.backward();
    local.loss.add_(sums.loss.detach());
    if (sums.correct.defined()) local.correct.add_(sums.correct);
    local.count += static_cast<double>(sums.count);
  }
  return local;
}

Trainer::Outcome Trainer::Step(Prefetcher& batches, const StepSize& size) {
  const TrainingConfig& training = parts_.config.training;
  const bool late = parts_.plan.read_late && !IsWatched(state_.step + 1);
  if (parts_.plan.read_late && !late) {
    ReadLaunched(0);
    if (stop_agreed_) return Outcome::kStopped;
  }
  SeedStep(training.seed, state_.step, parts_.group.rank());
  ZeroGradients(parameters_);
  // A step that is given up must leave no trace, also not in the running statistics of normalisations.
  if (training.nan_policy == NanPolicy::kSkip || Rounds(size.samples, 0) > kStopCheckRounds) {
    kept_buffers_ = Copies(parts_.model.buffers());
  }
  const std::optional<LocalSums> local = ForwardBackward(batches, size.samples);
  if (!local) {
    RestoreBuffers();
    return Outcome::kStopped;
  }
  const double lr = LearningRate(training, state_.epoch, state_.step, parts_.plan.total_steps);
  if (!late) return Decide(*local, size, lr);
  Launch(*local, size, lr);
  return Outcome::kDone;
}

Trainer::Outcome Trainer::Decide(const LocalSums& local, const StepSize& size, double lr) {
  std::array<double, 4> sums{local.loss.item<double>(), static_cast<double>(local.correct.item<int64_t>()), local.count,
                             parts_.link.stop_requested() ? 1.0 : 0.0};
  parts_.group.Sum(sums);
  const StepSums global{.loss = sums[0], .correct = sums[1], .count = sums[2]};
  stop_agreed_ = sums[3] > 0;
  if (global.count == 0) {  // texts of one token have nothing to predict
    ++state_.step;
    return Outcome::kDone;
  }
  times_.Enter(StepTimes::Part::kOptimizer);
  const at::Tensor norm_tensor = parts_.optimizer.GradientNorm(global.count);
  const double norm = norm_tensor.item<double>();
  // Every rank has the same sums and the same gradients, so all of them decide alike.
  switch (JudgeStep(parts_.config.training.nan_policy, global.loss, norm, state_.skipped_in_row,
                    static_cast<int>(state_.left_out.size()))) {
    case StepVerdict::kUpdate:
      if (IsWatched(state_.step + 1)) Watch(global.count);
      parts_.optimizer.Step(lr, global.count, norm_tensor);
      times_.Enter(StepTimes::Part::kCompute);
      parts_.group.Average(parts_.model.buffers());
      AddToEpoch(global);
      break;
    case StepVerdict::kSkip:
      Skip(global, norm);
      break;
    case StepVerdict::kRollBack:
      RollBack(global, norm);
      return Outcome::kRolledBack;
    case StepVerdict::kFail:
      Fail(state_.step + 1, global, norm);
  }
  ++state_.step;
  ReportStep({.step = state_.step, .size = size, .lr = lr, .sums = global, .norm = norm});
  return Outcome::kDone;
}

void Trainer::Launch(const LocalSums& local, const StepSize& size, double lr) {
  const at::Tensor sums = late_.Pack(local, parts_.link.stop_requested());
  parts_.group.SumOnDevice(sums);
  times_.Enter(StepTimes::Part::kOptimizer);
  const at::Tensor count = sums[2].to(at::kFloat);
  const at::Tensor norm = parts_.optimizer.GradientNorm(count);
  parts_.optimizer.StepUnless(late_.Hold(sums, norm), lr, count, norm);
  times_.Enter(StepTimes::Part::kCompute);
  parts_.group.Average(parts_.model.buffers());
  ++state_.step;
  late_.Launched(state_.step, size, lr, sums, norm);
  ReadLaunched(1);
}

void Trainer::ReadLaunched(size_t behind) {
  while (const std::optional<StepNumbers> done = late_.Read(behind)) {
    stop_agreed_ = stop_agreed_ || done->stop;
    if (done->sums.count == 0) continue;  // the device left it out, too
    // The step after this one has been launched, and LateSteps::Hold keeps it from changing anything.
    if (JudgeStep(NanPolicy::kStop, done->sums.loss, done->norm, 0, 0) == StepVerdict::kFail)
      Fail(done->step, done->sums, done->norm);
    parts_.optimizer.CountStep();
    AddToEpoch(done->sums);
    ReportStep(*done);
  }
}

void Trainer::AddToEpoch(const StepSums& sums) {
  state_.epoch_loss += sums.loss;
  state_.epoch_correct += sums.correct;
  state_.epoch_count += sums.count;
  state_.skipped_in_row = 0;
}

bool Trainer::IsWatched(int64_t step) const {
  const int64_t every = parts_.config.training.watch_every;
  return every > 0 && step % every == 0;
}

void Trainer::Watch(double count) {
  if (!rank0() || reported_before()) return;
  const int64_t step = state_.step + 1;
  for (const auto& [name, tensor] : parts_.model.parameters()) {
    parts_.link.Histogram(HistogramOf("param/" + name, step, tensor, 1));
    if (tensor.grad().defined()) parts_.link.Histogram(HistogramOf("grad/" + name, step, tensor.grad(), 1 / count));
  }
}

bool Trainer::IsLeftOut(int64_t step) const {
  return std::find(state_.left_out.begin(), state_.left_out.end(), step) != state_.left_out.end();
}

Trainer::Outcome Trainer::LeaveOut(Prefetcher& batches, int64_t samples) {
  for (int64_t i = Rounds(samples, parts_.group.rank()); i > 0; --i) batches.Next();
  ++state_.step;
  return Outcome::kDone;
}

std::string Trainer::NonFinite(int64_t step, const StepSums& sums, double norm) {
  return absl::StrCat("the loss is ", sums.loss / sums.count, " and the norm of the gradient ", norm, " at step ",
                      step);
}

void Trainer::RestoreBuffers() {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < kept_buffers_.size(); ++i) parts_.model.buffers()[i].second.copy_(kept_buffers_[i]);
}

void Trainer::Skip(const StepSums& sums, double norm) {
  ++state_.skipped_in_row;
  ++skipped_;
  RestoreBuffers();
  if (!rank0()) return;
  parts_.link.Metric(parts_.link.SeriesIndex("skipped_steps"), state_.step + 1, static_cast<double>(skipped_));
  if (skipped_ <= kSkipsTold) {
    Say(absl::StrCat(NonFinite(state_.step + 1, sums, norm), ": the step changes nothing",
                     skipped_ == kSkipsTold ? "; the series skipped_steps counts further ones" : ""));
  }
}

void Trainer::RollBack(const StepSums& sums, double norm) {
  const int64_t bad_step = state_.step + 1;
  if (rank0()) parts_.link.Metric(loss_series_, bad_step, sums.loss / sums.count);
  const std::string reason = NonFinite(bad_step, sums, norm);
  std::vector<int64_t> left_out = state_.left_out;
  left_out.push_back(bad_step);
  state_ = parts_.restore();
  state_.left_out = std::move(left_out);
  reported_until_ = bad_step;
  if (rank0()) {
    Say(absl::StrCat(reason, ": back to the checkpoint of step ", state_.step, "; the samples of step ", bad_step,
                     " will be left out"));
  }
}

void Trainer::Fail(int64_t step, const StepSums& sums, double norm) {
  if (rank0()) parts_.link.Metric(loss_series_, step, sums.loss / sums.count);
  // The first rank that says it failed ends the others: not before rank 0's last point has left and its last checkpoint
  // is written.
  ReportProgress();
  if (rank0()) parts_.wait_saved().status().IgnoreError();
  parts_.group.Barrier();
  std::string tried;
  if (state_.skipped_in_row > 0) tried = absl::StrCat(", after ", state_.skipped_in_row, " skipped ones");
  if (!state_.left_out.empty()) tried = absl::StrCat(", after ", state_.left_out.size(), " ways back");
  throw NoRetryError(absl::StrCat(NonFinite(step, sums, norm), tried,
                                  ": stopped before the update; the checkpoints hold only earlier, finite steps"));
}

void Trainer::Metric(const std::string& series, double value) {
  if (reported_before()) return;
  parts_.link.Metric(parts_.link.SeriesIndex(series), state_.step, value);
}

void Trainer::ReportStep(const StepNumbers& done) {
  const StepSums& sums = done.sums;
  if (!rank0()) return;
  ++window_steps_;
  window_.samples += done.size.samples;
  window_.tokens += done.size.tokens;
  if (reported_before()) return;
  const bool has_accuracy = HasAccuracy(parts_.config.training.objective);
  progress_.step = done.step;
  progress_.epoch = static_cast<int>(state_.epoch);
  progress_.loss = sums.loss / sums.count;
  progress_.lr = done.lr;
  if (has_accuracy) progress_.accuracy = sums.correct / sums.count;
  parts_.link.Metric(loss_series_, done.step, progress_.loss);
  if (has_accuracy) parts_.link.Metric(acc_series_, done.step, *progress_.accuracy);
  parts_.link.Metric(lr_series_, done.step, done.lr);
  parts_.link.Metric(norm_series_, done.step, done.norm);
  if (!first_step_reported_) {
    first_step_reported_ = true;
    parts_.link.FirstStep(done.step);
  }
  if (const auto now = std::chrono::steady_clock::now(); now - window_start_ >= kReportEvery) {
    ReportThroughput(done.step, now);
    ReportProgress();
  }
}

void Trainer::ReportThroughput(int64_t step, std::chrono::steady_clock::time_point now) {
  const double seconds = std::chrono::duration<double>(now - window_start_).count();
  const auto report = [&](const char* series, double value) {
    parts_.link.Metric(parts_.link.SeriesIndex(series), step, value);
  };
  progress_.samples_per_second = static_cast<double>(window_.samples) / seconds;
  report("samples_per_second", progress_.samples_per_second);
  if (window_.tokens > 0) report("tokens_per_second", static_cast<double>(window_.tokens) / seconds);
  times_.Reduced(parts_.group.TakeSumTime());
  const StepParts parts = times_.Take(window_steps_, now);
  report("step_time/data", parts.data);
  report("step_time/compute", parts.compute);
  report("step_time/reduce", parts.reduce);
  report("step_time/optimizer", parts.optimizer);
  window_start_ = now;
  window_steps_ = 0;
  window_ = {};
}

void Trainer::ReportProgress() {
  if (rank0()) parts_.link.Progress(progress_);
}

bool Trainer::Validate() {
  if (parts_.plan.valid_samples == 0) return true;
  if (rank0()) parts_.link.Phase("validating");
  const auto begin = std::chrono::steady_clock::now();
  bool stop = false;
  const std::optional<Evaluation> result =
      Evaluate(parts_.model, valid_maker_, copier_, parts_.plan.valid_samples, parts_.plan.valid_micro_batch,
               parts_.group, parts_.config.training.bf16, [&] {
                 stop = stop || parts_.link.stop_requested();
                 return stop;
               });
  if (result && rank0()) ShowSamples();
  if (rank0()) parts_.link.Phase("training");
  // Validation is no training time: it must not show as a dip of the throughput.
  window_start_ += std::chrono::steady_clock::now() - begin;
  if (!result) return false;
  if (result->count == 0) return true;
  state_.valid_loss = progress_.valid_loss = result->loss;
  state_.valid_accuracy = progress_.valid_accuracy = result->accuracy;
  if (rank0()) {
    Metric("valid_loss", result->loss);
    if (result->accuracy) Metric("valid_acc", *result->accuracy);
  }
  return true;
}

void Trainer::ShowSamples() {
  if (reported_before()) return;
  std::string text = SampleTexts(parts_.model, valid_maker_, copier_, parts_.data, parts_.config.training.objective,
                                 parts_.plan.valid_micro_batch, parts_.config.training.bf16);
  if (!text.empty()) parts_.link.Text({.series = "samples", .step = state_.step, .text = std::move(text)});
}

bool Trainer::FinishEpoch() {
  if (!Validate()) return false;
  NoteBest();
  if (rank0()) {
    if (state_.epoch_count > 0) {
      Metric("train_loss", state_.epoch_loss / state_.epoch_count);
      if (HasAccuracy(parts_.config.training.objective)) Metric("train_acc", state_.epoch_correct / state_.epoch_count);
    }
    Metric("epoch", static_cast<double>(state_.epoch));
    for (const auto& [name, value] : parts_.model.Diagnostics()) Metric(name, value);
    ReportProgress();
  }
  ++state_.epoch;
  state_.position = 0;
  state_.epoch_loss = state_.epoch_correct = state_.epoch_count = 0;
  Save();
  return true;
}

void Trainer::NoteBest() {
  const std::string& metric = parts_.config.training.best_metric;
  std::optional<double> value;
  if (metric == "valid_loss") value = state_.valid_loss;
  if (metric == "valid_acc") value = state_.valid_accuracy;
  if (metric == "train_loss" && state_.epoch_count > 0) value = state_.epoch_loss / state_.epoch_count;
  if (metric == "train_acc" && state_.epoch_count > 0 && HasAccuracy(parts_.config.training.objective)) {
    value = state_.epoch_correct / state_.epoch_count;
  }
  state_.best = NextBest(state_.best, value, HigherIsBetter(metric), state_.step);
  if (!rank0()) return;
  if (state_.best.step == state_.step) Metric("best_" + metric, *state_.best.value);
  if (!EndsEarly()) return;
  Say(absl::StrCat(
      "ends after epoch ", state_.epoch, ": ", metric, " has not got better for ", state_.best.stale_epochs, " epochs",
      state_.best.value ? absl::StrCat("; the best was ", *state_.best.value, " at step ", state_.best.step)
                        : std::string()));
}

bool Trainer::EndsEarly() const {
  const int patience = parts_.config.training.patience;
  return patience > 0 && state_.best.stale_epochs >= patience;
}

void Trainer::Save() {
  CheckSameParameters(parts_.model, parts_.group, state_.step);
  if (rank0()) parts_.save(state_);
}

void Trainer::EnsureSaved() {
  std::string error;
  const auto missing = [&] {
    bool here = resumed_step_ == state_.step;
    if (rank0() && !here) {
      const absl::StatusOr<int64_t> saved = parts_.wait_saved();
      here = saved.ok() && *saved == state_.step;
      if (!saved.ok())
        error = absl::StrCat("cannot save step ", state_.step, ": ", std::string(saved.status().message()));
    }
    return parts_.group.Any(rank0() && !here);
  };
  if (rank0()) parts_.link.Phase("saving");
  if (missing()) {
    Save();
    if (missing() && rank0()) throw std::runtime_error(error);
  }
  if (rank0()) parts_.link.Phase("training");
}

void Trainer::Say(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  parts_.link.Notice(text);
}

}  // namespace ddp
