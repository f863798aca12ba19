#include "worker/report/config_io.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ddp {

namespace {

absl::StatusOr<Objective> ObjectiveFromProto(v1::Objective objective) {
  switch (objective) {
    case v1::OBJECTIVE_MLM:
      return Objective::kMlm;
    case v1::OBJECTIVE_EMBEDDING:
      return Objective::kEmbedding;
    case v1::OBJECTIVE_CLASSIFICATION:
      return Objective::kClassification;
    case v1::OBJECTIVE_REGRESSION:
      return Objective::kRegression;
    case v1::OBJECTIVE_CLM:
      return Objective::kClm;
    case v1::OBJECTIVE_DENOISING:
      return Objective::kDenoising;
    default:
      return absl::InvalidArgumentError("training.objective: missing from the launch spec");
  }
}

OptimizerKind OptimizerFromProto(v1::OptimizerKind kind) {
  switch (kind) {
    case v1::OPTIMIZER_KIND_ADAMW:
      return OptimizerKind::kAdamW;
    case v1::OPTIMIZER_KIND_SGD:
      return OptimizerKind::kSgd;
    default:
      return OptimizerKind::kAdam;
  }
}

ScheduleKind ScheduleFromProto(v1::ScheduleKind kind) {
  switch (kind) {
    case v1::SCHEDULE_KIND_CONSTANT:
      return ScheduleKind::kConstant;
    case v1::SCHEDULE_KIND_MULTISTEP:
      return ScheduleKind::kMultistep;
    case v1::SCHEDULE_KIND_COSINE:
      return ScheduleKind::kCosine;
    case v1::SCHEDULE_KIND_LINEAR:
      return ScheduleKind::kLinear;
    default:
      return ScheduleKind::kStep;
  }
}

NanPolicy NanPolicyFromProto(v1::NanPolicy policy) {
  switch (policy) {
    case v1::NAN_POLICY_SKIP:
      return NanPolicy::kSkip;
    case v1::NAN_POLICY_ROLLBACK:
      return NanPolicy::kRollback;
    default:
      return NanPolicy::kStop;
  }
}

DataSpec DataFromProto(const v1::Data& data, Objective objective) {
  DataSpec spec;
  spec.source = data.source();
  spec.valid = data.valid();
  if (data.has_valid_fraction()) spec.valid_fraction = data.valid_fraction();
  spec.text_column = data.text_column();
  spec.feature_columns.assign(data.feature_columns().begin(), data.feature_columns().end());
  spec.label_column = data.label_column();
  spec.limit = data.limit();
  spec.tokenizer = data.tokenizer();
  spec.vocab_size = data.vocab_size();
  spec.max_tokens = data.max_tokens();
  spec.labels = data.labels();
  spec.valid_labels = data.valid_labels();
  spec.image_shape = data.image_shape();
  spec.token_type = data.token_type();
  spec.label_kind = !NeedsLabels(objective)               ? LabelKind::kNone
                    : objective == Objective::kRegression ? LabelKind::kNumber
                                                          : LabelKind::kClass;
  return spec;
}

}  // namespace

absl::StatusOr<TrainingConfig> TrainingFromProto(const v1::JobSpec& spec) {
  const v1::Training& t = spec.training();
  TrainingConfig config;
  DDP_ASSIGN_OR_RETURN(config.objective, ObjectiveFromProto(t.objective()));
  config.data = DataFromProto(t.data(), config.objective);
  config.model_name = t.model().name();
  config.model_options.insert(t.model().options().begin(), t.model().options().end());
  config.reinit.assign(t.reinit().begin(), t.reinit().end());
  config.epochs = t.epochs();
  config.max_steps = t.max_steps();
  config.batch_size = t.batch_size();
  config.micro_batch = t.micro_batch();
  config.lr = t.lr();
  config.optimizer = OptimizerFromProto(t.optimizer());
  config.weight_decay = t.weight_decay();
  config.momentum = t.momentum();
  config.schedule = ScheduleFromProto(t.schedule());
  // Unset: without effect here (FillDefaults).
  if (t.has_step_size()) config.step_size = t.step_size();
  if (t.has_gamma()) config.gamma = t.gamma();
  config.seed = t.seed();
  config.checkpoint_every = t.checkpoint_every();
  config.keep = t.keep();
  config.valid_every = t.valid_every();
  config.freeze.assign(t.freeze().begin(), t.freeze().end());
  config.milestones.assign(t.milestones().begin(), t.milestones().end());
  config.warmup = t.warmup();
  config.min_lr = t.min_lr();
  config.clip = t.clip();
  config.bf16 = t.precision() == v1::PRECISION_BF16;
  config.nan_policy = NanPolicyFromProto(t.nan_policy());
  config.nesterov = t.nesterov();
  config.best_metric = t.best_metric();
  config.patience = t.patience();
  config.watch_every = t.watch_every();
  if (t.has_beta1()) config.beta1 = t.beta1();
  if (t.has_beta2()) config.beta2 = t.beta2();
  if (t.has_eps()) config.eps = t.eps();
  if (config.epochs < 1 || config.batch_size < 1 || !(config.lr > 0) || config.step_size < 1 || config.keep < 1) {
    return absl::InvalidArgumentError(
        "the launch spec is not complete: epochs, batch_size, lr, step_size or keep is unset");
  }
  return config;
}

absl::StatusOr<WorkerConfig> WorkerFromProto(const v1::WorkerStart& start) {
  const v1::Launch& launch = start.launch();
  if (launch.format_version() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("launch format ", launch.format_version(), " is not known"));
  }
  WorkerConfig config;
  DDP_ASSIGN_OR_RETURN(config.training, TrainingFromProto(launch.spec()));
  config.job_id = launch.job_id();
  config.attempt = launch.attempt();
  config.checkpoint_dir = launch.checkpoint_dir();
  config.init_path = launch.init_path();
  config.token_cache = launch.token_cache();
  const v1::Resources& resources = launch.spec().resources();
  config.cuda = resources.device() == v1::DEVICE_CUDA;
  config.backend = resources.backend() == v1::BACKEND_GLOO   ? BackendKind::kGloo
                   : resources.backend() == v1::BACKEND_NCCL ? BackendKind::kNccl
                                                             : BackendKind::kShm;
  config.threads = launch.threads_per_rank() > 0 ? launch.threads_per_rank() : 1;
  config.rank = start.rank();
  config.world_size = start.world_size();
  config.store_port = start.store_port();
  config.store_fd = start.store_fd();
  config.shm_fd = start.shm_fd();
  return config;
}

}  // namespace ddp
