#include "worker/train/worker.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/_foreach_zero.h>
#include <malloc.h>

#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/exit_codes.h"
#include "worker/checkpoint/folder.h"
#include "worker/data/dataset.h"
#include "worker/dist/group.h"
#include "worker/models/registry.h"
#include "worker/report/runner_link.h"
#include "worker/train/checkpoint_writer.h"
#include "worker/train/errors.h"
#include "worker/train/initial_weights.h"
#include "worker/train/parameter_check.h"
#include "worker/train/sampler.h"
#include "worker/train/snapshot.h"
#include "worker/train/step_policy.h"
#include "worker/train/trainer.h"

namespace ddp {

namespace {

// A fault in data or config: another attempt would meet it again.
template <typename T>
T OrNoRetry(absl::StatusOr<T> value) {
  if (!value.ok()) throw NoRetryError(std::string(value.status().message()));
  return *std::move(value);
}
void OrNoRetry(const absl::Status& status) {
  if (!status.ok()) throw NoRetryError(std::string(status.message()));
}

// A resume gives the same bits only if a kernel adds in the same order each time. Where torch has no such kernel it
// warns.
void UseRepeatableKernels() {
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(true, /*warn_only=*/true);
  context.setDeterministicFillUninitializedMemory(false);  // would fill all new memory with NaN
  context.setDeterministicCuDNN(true);
}

// One attempt of one rank, in order.
class Attempt {
 public:
  Attempt(const WorkerConfig& config, RunnerLink& link) : config_(config), link_(link) {}

  TrainResult Run() {
    at::set_num_threads(config_.threads);
    if (config_.cuda) UseRepeatableKernels();
    link_.Phase("rendezvous");
    group_ = Group::Join(config_);
    ChooseCheckpoint();
    link_.Phase("data");
    LoadData();
    if (group_->Any(link_.stop_requested()))
      return {.completed = false, .step = resume_step(), .saved_step = saved_step()};
    BuildModel();
    const Plan plan = MakePlan(config_, data_, input_);
    Announce(plan);
    info_.batch_size = plan.batch_size;
    link_.Phase("training");
    if (rank0()) {
      writer_ = std::make_unique<CheckpointWriter>(
          config_,
          // What is behind a checkpoint is never made again, so the points before it must be safe first, even from a
          // SIGKILL of the runner.
          [this] { link_.AwaitRecorded(); },
          [this](int64_t step, const absl::StatusOr<std::string>& folder, double seconds) {
            Saved(step, folder, seconds);
          });
    }
    Trainer trainer({config_, plan, data_, *model_, *optimizer_, *group_, link_,
                     [this](const TrainState& state) { SaveSnapshot(state); }, [this] { return writer_->Wait(); },
                     [this] { return Restore(); }},
                    info_.state, saved_step());
    return trainer.Run();
  }

  // A checkpoint that is still being written is as good as any, whatever training ran into.
  void FinishWriting() {
    if (writer_) writer_->Wait().status().IgnoreError();
  }

  // After the last report: nobody leaves before everybody has said its last word.
  void Part() { group_->Barrier(); }

 private:
  bool rank0() const { return config_.rank == 0; }
  int64_t resume_step() const { return resumed_ ? info_.state.step : 0; }
  int64_t saved_step() const { return resumed_ ? info_.state.step : -1; }

  // Rank 0 looks for the newest checkpoint that verifies, and all ranks take that one.
  std::string NewestCheckpoint() {
    std::string folder;
    if (rank0()) {
      std::vector<std::string> rejected;
      folder = NewestVerified(config_.checkpoint_dir, &rejected);
      for (const std::string& reason : rejected) Say(absl::StrCat("a checkpoint is not used: ", reason));
    }
    return group_->FromRank0(absl::StrCat("resume/", choices_++), folder);
  }

  void ChooseCheckpoint() {
    resume_folder_ = NewestCheckpoint();
    resumed_ = !resume_folder_.empty();
    if (resumed_) {
      info_ = OrNoRetry(ReadSnapshotInfo(resume_folder_));
    } else if (!config_.init_path.empty() && WeightsFile(config_.init_path) != config_.init_path) {
      parent_ = OrNoRetry(ReadSnapshotInfo(config_.init_path));
    }
  }

  void LoadData() {
    const SnapshotInfo& from = resumed_ ? info_ : parent_;
    Tokenizer tokenizer;
    const bool has_tokenizer = !from.tokenizer.empty();
    if (has_tokenizer) tokenizer = OrNoRetry(Tokenizer::FromJson(from.tokenizer));
    absl::StatusOr<Dataset> data = LoadDataset(
        config_.training.data, has_tokenizer ? &tokenizer : nullptr, OrNoRetry(KeptClasses(from, config_.training)),
        [this] { return link_.stop_requested(); }, config_.token_cache);
    if (!data.ok() && absl::IsCancelled(data.status())) return;  // Run asks all ranks next
    data_ = OrNoRetry(std::move(data));
    // What was read is larger than what is kept, and this process gives nothing back by itself (main.cc).
    malloc_trim(0);
    if (resumed_ && info_.data_fingerprint != data_.fingerprint) {
      throw NoRetryError(absl::StrCat("training.data.source: the data has changed since the checkpoint: fingerprint ",
                                      info_.data_fingerprint, " then, ", data_.fingerprint,
                                      " now. Restore it, or start a new job"));
    }
  }

  void BuildModel() {
    input_ = OrNoRetry(ModelInput(config_.training.model_name));
    const ModelShape shape{.objective = config_.training.objective,
                           .vocab = data_.tokenizer.vocab_size(),
                           .max_tokens = config_.training.data.max_tokens,
                           .features = data_.train.feature_dim,
                           .classes = static_cast<int64_t>(data_.class_names.size()),
                           .channels = data_.image.channels,
                           .height = data_.image.height,
                           .width = data_.image.width};
    if ((input_ == InputKind::kText) != data_.train.has_text()) {
      throw NoRetryError(absl::StrCat("training.model.name: ", config_.training.model_name, " reads ",
                                      input_ == InputKind::kText ? "text" : "numbers", ", but the data has none"));
    }
    if (data_.train.size() < config_.world_size) {
      throw NoRetryError(absl::StrCat("resources.nproc: ", config_.world_size, " ranks, but only ", data_.train.size(),
                                      " training samples"));
    }
    model_ =
        OrNoRetry(MakeModel(config_.training.model_name, config_.training.model_options, shape, config_.training.seed));
    if (config_.cuda) model_->MoveTo(at::Device(at::kCUDA, 0));
    if (!resumed_ && !config_.init_path.empty()) {
      loaded_ = OrNoRetry(LoadInitialWeights(config_.init_path, config_.training.reinit, *model_)).ToString();
    }
    Freeze();
    optimizer_ = std::make_unique<Optimizer>(config_.training, model_->parameters());
    if (resumed_) LoadState(resume_folder_, info_);
    group_->BroadcastFromRank0(model_->state());
    checksum_ = CheckSameParameters(*model_, *group_, resume_step());
    info_ = SnapshotInfo{.model_name = config_.training.model_name,
                         .model_options = config_.training.model_options,
                         .objective = config_.training.objective,
                         .shape = shape,
                         .tokenizer = input_ == InputKind::kText ? data_.tokenizer.ToJson() : "",
                         .class_names = data_.class_names,
                         .data_fingerprint = data_.fingerprint,
                         .optimizer_steps = info_.optimizer_steps,
                         .state = info_.state};
  }

  void Freeze() {
    const std::vector<bool> frozen = OrNoRetry(FrozenNames(model_->parameter_names(), config_.training.freeze));
    for (size_t i = 0; i < frozen.size(); ++i) model_->parameters()[i].second.set_requires_grad(!frozen[i]);
  }

  void LoadState(const std::string& folder, const SnapshotInfo& info) {
    OrNoRetry(LoadExactly(folder + "/model.safetensors", model_->state()));
    OrNoRetry(LoadExactly(folder + "/optimizer.safetensors", optimizer_->state()));
    optimizer_->set_steps(info.optimizer_steps);
  }

  void Announce(const Plan& plan) {
    if (!rank0()) return;
    const TrainingConfig& training = config_.training;
    if (plan.batch_size < training.batch_size) {
      Say(absl::StrCat("batch_size lowered from ", training.batch_size, " to ", plan.batch_size,
                       ": there are no more training samples"));
    }
    if (!loaded_.empty()) Say(absl::StrCat("from ", config_.init_path, ": ", loaded_));
    if (resumed_) Say(absl::StrCat("goes on from the checkpoint of step ", info_.state.step));
    std::map<std::string, std::string> facts{
        {"train_samples", absl::StrCat(plan.train_samples)},
        {"valid_samples", absl::StrCat(plan.valid_samples)},
        {"batch_size", absl::StrCat(plan.batch_size)},
        {"per_rank_batch", DescribeShares(plan.batch_size, config_.world_size)},
        {"micro_batch", absl::StrCat(plan.micro_batch)},
        {"steps_per_epoch", absl::StrCat(plan.steps_per_epoch)},
        {"last_batch", "smaller, never padded: each sample is seen once an epoch"},
        {"parameters", absl::StrCat(model_->parameter_count())},
        {"param_checksum", absl::StrCat(absl::Hex(checksum_, absl::kZeroPad16))},
        {"data_fingerprint", data_.fingerprint},
        {"threads_per_rank", absl::StrCat(config_.threads)},
        {"precision", config_.training.bf16 ? "bf16" : "fp32"},
        {"prefetch", absl::StrCat(plan.prefetch)},
    };
    // Windows of token files have one length.
    if (input_ == InputKind::kText && data_.train.windows == nullptr)
      facts["text_batches"] = "grouped by length, trimmed to the longest of each micro-batch";
    if (!loaded_.empty()) facts["loaded"] = loaded_;
    if (!data_.class_names.empty()) facts["classes"] = absl::StrCat(data_.class_names.size());
    if (input_ == InputKind::kText) facts["vocabulary"] = absl::StrCat(data_.tokenizer.vocab_size());
    std::string line = "facts:";
    for (const auto& [name, value] : facts) absl::StrAppend(&line, " ", name, "=", value);
    std::fprintf(stderr, "%s\n", line.c_str());
    link_.Begun(resume_step(), plan.total_steps, facts);
  }

  void SaveSnapshot(const TrainState& state) {
    info_.state = state;
    info_.optimizer_steps = optimizer_->steps();
    writer_->Save(info_, *model_, *optimizer_);
  }

  // In the writer's thread.
  void Saved(int64_t step, const absl::StatusOr<std::string>& folder, double seconds) {
    if (folder.ok()) {
      link_.CheckpointSaved(step, *folder, seconds);
    } else {
      Say(absl::StrCat("cannot save step ", step, ": ", std::string(folder.status().message()),
                       "; the older checkpoints stay, and training goes on"));
    }
  }

  TrainState Restore() {
    if (rank0()) writer_->Wait().status().IgnoreError();  // older ones will do
    const std::string folder = NewestCheckpoint();
    if (folder.empty()) throw NoRetryError("there is no checkpoint to go back to");
    const SnapshotInfo info = OrNoRetry(ReadSnapshotInfo(folder));
    LoadState(folder, info);
    // Nobody may write over the folder while another rank still reads it.
    group_->Barrier();
    return info.state;
  }

  void Say(const std::string& text) {
    std::fprintf(stderr, "%s\n", text.c_str());
    link_.Notice(text);
  }

  const WorkerConfig& config_;
  RunnerLink& link_;
  std::unique_ptr<Group> group_;
  std::string resume_folder_;
  bool resumed_ = false;
  SnapshotInfo info_;    // of this job
  SnapshotInfo parent_;  // of init_path, when that is a checkpoint
  Dataset data_;
  InputKind input_ = InputKind::kText;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Optimizer> optimizer_;
  std::string loaded_;
  uint64_t checksum_ = 0;
  int choices_ = 0;
  std::unique_ptr<CheckpointWriter> writer_;  // of rank 0
};

}  // namespace

int RunWorker(int fd) {
  WorkerConfig config;
  absl::StatusOr<std::unique_ptr<RunnerLink>> link = RunnerLink::Open(fd, &config);
  if (!link.ok()) {
    std::fprintf(stderr, "ddp-worker: %s\n", std::string(link.status().message()).c_str());
    return kExitFailure;
  }
  // Never deleted: to tear down a group whose peers have left waits for them, or aborts, and a failure is to be told.
  auto* const attempt = new Attempt(config, **link);
  auto fail = [&](const std::exception& e, bool retryable, int exit_code) {
    attempt->FinishWriting();
    std::fprintf(stderr, "rank %d failed: %s\n", config.rank, e.what());
    (*link)->Failure(e.what(), retryable, -1);
    link->reset();
    return exit_code;
  };
  try {
    const TrainResult result = attempt->Run();
    (*link)->Finished(result.completed, result.step, result.saved_step);
    attempt->Part();
    link->reset();
    return kExitOk;
  } catch (const NoRetryError& e) {
    return fail(e, false, kExitNoRetry);
  } catch (const std::exception& e) {
    return IsPeerLoss(e) ? fail(e, true, kExitPeerLost) : fail(e, true, kExitFailure);
  }
}

}  // namespace ddp
