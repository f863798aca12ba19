#include "spec/spec_defaults.h"

#include "absl/strings/match.h"

namespace ddp {

namespace {

// The vocabulary of the token files that people have most often.
constexpr int kGpt2Vocabulary = 50257;
// A window is as much work as dozens of short texts.
constexpr int kWindowTokens = 256;
constexpr int64_t kWindowsPerBatch = 64;

bool IsTokenFile(const v1::Data& data) { return absl::EndsWith(data.source(), ".bin"); }

// A checkpoint brings its tokenizer along; a file with weights alone has none.
bool HasParent(const v1::Training& training) {
  return !training.init_from().empty() && !absl::EndsWith(training.init_from(), ".safetensors");
}

void FillTokenizer(v1::Data& data) {
  if (IsTokenFile(data)) {
    if (!data.has_vocab_size()) data.set_vocab_size(kGpt2Vocabulary);
    return;
  }
  if (data.tokenizer().empty()) data.set_tokenizer("words");
  if (data.tokenizer() == "words" && !data.has_vocab_size()) data.set_vocab_size(16384);
}

void FillData(v1::Data& data) {
  if (data.source().empty()) data.set_source("wordnet");
  if (data.valid().empty() && !data.has_valid_fraction()) data.set_valid_fraction(0.1);
  if (!data.has_max_tokens()) data.set_max_tokens(IsTokenFile(data) ? kWindowTokens : 32);
}

std::string DefaultModel(const v1::Data& data) {
  const std::string& source = data.source();
  if (IsTokenFile(data)) return "gpt";
  if (!data.image_shape().empty() || source == "fashion-mnist" || absl::StrContains(source, "-idx3-") ||
      absl::EndsWith(source, ".idx") || absl::EndsWith(source, ".idx.gz")) {
    return "convnet";
  }
  const bool arrays =
      absl::EndsWith(source, ".npy") || absl::EndsWith(source, ".npz") || absl::EndsWith(source, ".safetensors");
  return arrays || data.feature_columns_size() > 0 ? "mlp" : "text-encoder";
}

v1::Objective DefaultObjective(const v1::Training& training) {
  if (training.mode() == v1::MODE_FINETUNE) return v1::OBJECTIVE_CLASSIFICATION;
  const std::string& model = training.model().name();
  if (model == "gpt") return v1::OBJECTIVE_CLM;
  return model == "convnet" || model == "resnet18" || model == "mlp" ? v1::OBJECTIVE_DENOISING : v1::OBJECTIVE_MLM;
}

void FillTraining(v1::Training& training) {
  FillData(*training.mutable_data());
  if (!HasParent(training)) FillTokenizer(*training.mutable_data());
  if (training.model().name().empty()) training.mutable_model()->set_name(DefaultModel(training.data()));
  if (training.objective() == v1::OBJECTIVE_UNSPECIFIED) training.set_objective(DefaultObjective(training));
  if (!training.has_epochs()) training.set_epochs(9);
  if (!training.has_batch_size()) training.set_batch_size(IsTokenFile(training.data()) ? kWindowsPerBatch : 4096);
  if (!training.has_lr()) training.set_lr(1e-3);
  if (training.optimizer() == v1::OPTIMIZER_KIND_UNSPECIFIED) training.set_optimizer(v1::OPTIMIZER_KIND_ADAM);
  if (!training.has_weight_decay()) training.set_weight_decay(0);
  if (!training.has_momentum()) training.set_momentum(0);
  if (training.schedule() == v1::SCHEDULE_KIND_UNSPECIFIED) training.set_schedule(v1::SCHEDULE_KIND_STEP);
  const bool steps = training.schedule() == v1::SCHEDULE_KIND_STEP;
  if (steps && !training.has_step_size()) training.set_step_size(3);
  const bool drops = steps || training.schedule() == v1::SCHEDULE_KIND_MULTISTEP;
  if (drops && !training.has_gamma()) training.set_gamma(0.1);
  if (!training.has_seed()) training.set_seed(0);
  if (!training.has_checkpoint_every()) training.set_checkpoint_every(0);
  if (!training.has_keep()) training.set_keep(3);
  if (!training.has_valid_every()) training.set_valid_every(0);
  if (!training.has_warmup()) training.set_warmup(0);
  if (!training.has_min_lr()) training.set_min_lr(0);
  if (training.precision() == v1::PRECISION_UNSPECIFIED) training.set_precision(v1::PRECISION_FP32);
  if (training.nan_policy() == v1::NAN_POLICY_UNSPECIFIED) training.set_nan_policy(v1::NAN_POLICY_STOP);
  if (!training.has_nesterov()) training.set_nesterov(false);
  if (training.best_metric().empty()) {
    training.set_best_metric(training.data().valid() == "none" ? "train_loss" : "valid_loss");
  }
  if (!training.has_patience()) training.set_patience(0);
  if (!training.has_watch_every()) training.set_watch_every(0);
  if (training.optimizer() != v1::OPTIMIZER_KIND_SGD) {
    if (!training.has_beta1()) training.set_beta1(0.9);
    if (!training.has_beta2()) training.set_beta2(0.999);
    if (!training.has_eps()) training.set_eps(1e-8);
  }
}

}  // namespace

void FillDefaults(v1::JobSpec& spec, const MachineFacts& machine) {
  if (!spec.has_priority()) spec.set_priority(0);
  if (!spec.has_max_restarts()) spec.set_max_restarts(3);
  v1::Resources& resources = *spec.mutable_resources();
  if (!resources.has_nproc()) resources.set_nproc(machine.slots);
  if (resources.device() == v1::DEVICE_UNSPECIFIED) {
    resources.set_device(machine.has_gpus ? v1::DEVICE_CUDA : v1::DEVICE_CPU);
  }
  if (resources.backend() == v1::BACKEND_UNSPECIFIED) {
    resources.set_backend(resources.device() == v1::DEVICE_CUDA ? v1::BACKEND_NCCL : v1::BACKEND_SHM);
  }
  if (spec.has_training()) FillTraining(*spec.mutable_training());
}

}  // namespace ddp
