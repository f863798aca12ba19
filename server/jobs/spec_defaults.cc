#include "server/jobs/spec_defaults.h"

namespace ddp {

namespace {

void FillData(v1::Data& data) {
  if (data.source().empty()) data.set_source("wordnet");
  if (!data.has_valid_fraction()) data.set_valid_fraction(0.1);
  if (data.tokenizer().empty()) data.set_tokenizer("words");
  if (!data.has_vocab_size()) data.set_vocab_size(16384);
  if (!data.has_max_tokens()) data.set_max_tokens(32);
}

// Numbers are for the mlp, texts for the encoder.
std::string DefaultModel(const v1::Data& data) {
  return data.source() == "fashion-mnist" || data.feature_columns_size() > 0 ? "mlp" : "text-encoder";
}

void FillTraining(v1::Training& training) {
  FillData(*training.mutable_data());
  if (training.objective() == v1::OBJECTIVE_UNSPECIFIED) {
    training.set_objective(training.mode() == v1::MODE_FINETUNE ? v1::OBJECTIVE_CLASSIFICATION : v1::OBJECTIVE_MLM);
  }
  if (training.model().name().empty()) training.mutable_model()->set_name(DefaultModel(training.data()));
  if (!training.has_epochs()) training.set_epochs(9);
  if (!training.has_batch_size()) training.set_batch_size(4096);
  if (!training.has_lr()) training.set_lr(1e-3);
  if (training.optimizer() == v1::OPTIMIZER_KIND_UNSPECIFIED) training.set_optimizer(v1::OPTIMIZER_KIND_ADAM);
  if (!training.has_weight_decay()) training.set_weight_decay(0);
  if (!training.has_momentum()) training.set_momentum(0);
  if (training.schedule() == v1::SCHEDULE_KIND_UNSPECIFIED) training.set_schedule(v1::SCHEDULE_KIND_STEP);
  if (!training.has_step_size()) training.set_step_size(3);
  if (!training.has_gamma()) training.set_gamma(0.1);
  if (!training.has_seed()) training.set_seed(0);
  if (!training.has_checkpoint_every()) training.set_checkpoint_every(0);
  if (!training.has_keep()) training.set_keep(3);
  if (!training.has_valid_every()) training.set_valid_every(0);
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
