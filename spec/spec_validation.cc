#include "spec/spec_validation.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/data_files.h"
#include "common/text.h"
#include "spec/excerpt.h"

namespace ddp {

namespace {

bool HasAccuracy(v1::Objective objective) {
  return objective == v1::OBJECTIVE_MLM || objective == v1::OBJECTIVE_CLM || objective == v1::OBJECTIVE_CLASSIFICATION;
}

class Validator {
 public:
  explicit Validator(const MachineFacts& machine) : machine_(machine) {}

  std::vector<v1::FieldViolation> Check(const v1::JobSpec& spec) {
    CheckLabels(spec);
    Between("priority", spec.priority(), -1000, 1000);
    Between("max_restarts", spec.max_restarts(), 0, 1000);
    CheckResources(spec.resources());
    if (spec.has_training()) {
      CheckTraining(spec.training());
    } else if (spec.has_imported()) {
      Refuse("imported", "such jobs are made of points that were measured elsewhere; submit needs training");
    } else {
      Refuse("training", "not given: say at least --mode pretrain or --mode finetune");
    }
    return std::move(violations_);
  }

  std::vector<v1::FieldViolation> CheckOnlyLabels(const v1::JobSpec& spec) {
    CheckLabels(spec);
    return std::move(violations_);
  }

 private:
  void CheckLabels(const v1::JobSpec& spec) {
    CheckText("name", spec.name(), 200);
    if (spec.tags_size() > 32) Refuse("tags", absl::StrCat("at most 32, got ", spec.tags_size()));
    CheckTexts("tags", spec.tags(), 64);
  }
  void Refuse(const std::string& field, const std::string& text) {
    v1::FieldViolation& violation = violations_.emplace_back();
    violation.set_field(field);
    violation.set_description(text);
  }
  bool CheckText(const std::string& field, const std::string& text, size_t limit) {
    if (text.size() > limit) {
      Refuse(field, absl::StrCat("at most ", limit, " bytes, got ", text.size()));
    } else if (!IsValidUtf8(text)) {
      Refuse(field, absl::StrCat("must be UTF-8, got ", Excerpt(text)));
    } else if (text.find('\0') != std::string::npos) {
      Refuse(field, "must not hold NUL bytes");
    } else {
      return true;
    }
    return false;
  }
  // Names the first wrong one only: the list may be long, and the answer must stay small.
  template <typename Texts>
  void CheckTexts(const std::string& field, const Texts& texts, size_t limit) {
    for (int i = 0; i < texts.size(); ++i) {
      if (!CheckText(absl::StrCat(field, "[", i, "]"), texts[i], limit)) return;
    }
  }
  void Between(const std::string& field, int64_t value, int64_t low, int64_t high) {
    if (value < low || value > high) Refuse(field, absl::StrCat("must be ", low, " to ", high, ", got ", value));
  }
  void Positive(const std::string& field, int64_t value) {
    if (value <= 0) Refuse(field, absl::StrCat("must be > 0, got ", value));
  }
  void NotNegative(const std::string& field, int64_t value) {
    if (value < 0) Refuse(field, absl::StrCat("must be >= 0, got ", value));
  }
  void PositiveNumber(const std::string& field, double value) {
    if (!(std::isfinite(value) && value > 0)) Refuse(field, absl::StrCat("must be a finite number > 0, got ", value));
  }
  void NotNegativeNumber(const std::string& field, double value) {
    if (!(std::isfinite(value) && value >= 0)) Refuse(field, absl::StrCat("must be a finite number >= 0, got ", value));
  }
  void Share(const std::string& field, double value) {
    if (!(value >= 0 && value < 1)) Refuse(field, absl::StrCat("must be >= 0 and < 1, got ", value));
  }
  template <typename Enum>
  bool Known(const std::string& field, Enum value, bool is_valid) {
    if (!is_valid) Refuse(field, absl::StrCat("unknown value ", static_cast<int>(value)));
    return is_valid;
  }

  void CheckResources(const v1::Resources& resources) {
    const int nproc = resources.nproc();
    if (nproc < 1 || nproc > machine_.slots) {
      Refuse("resources.nproc", absl::StrCat("must be 1 to ", machine_.slots, " (this machine has ", machine_.slots,
                                             " ", machine_.has_gpus ? "GPU" : "CPU", " slots), got ", nproc));
    }
    if (!Known("resources.device", resources.device(), v1::Device_IsValid(resources.device()))) return;
    if (!Known("resources.backend", resources.backend(), v1::Backend_IsValid(resources.backend()))) return;
    const bool cuda = resources.device() == v1::DEVICE_CUDA;
    if (cuda && !machine_.has_gpus) {
      Refuse("resources.device", absl::StrCat("cuda is not possible here: ", machine_.no_gpu_reason, "; choose cpu"));
    }
    if (cuda && resources.backend() != v1::BACKEND_NCCL) {
      Refuse("resources.backend", "on cuda it must be nccl");
    }
    if (!cuda && resources.backend() == v1::BACKEND_NCCL) {
      Refuse("resources.backend", "nccl needs device cuda; choose shm or gloo");
    }
  }

  void CheckData(const v1::Data& data) {
    const std::string prefix = "training.data.";
    CheckSource(prefix + "source", data.source());
    if (CheckText(prefix + "valid", data.valid(), 4096) && !data.valid().empty() && data.valid() != "none" &&
        data.valid().front() != '/') {
      Refuse(prefix + "valid", absl::StrCat("must be \"none\" or an absolute path, got ", Excerpt(data.valid())));
    }
    const double fraction = data.valid_fraction();
    if (!data.valid().empty()) {
      if (data.has_valid_fraction()) {
        Refuse(prefix + "valid_fraction", "samples are held out only when valid is empty; leave out one of the two");
      }
    } else if (!(fraction > 0 && fraction < 1)) {
      Refuse(prefix + "valid_fraction", absl::StrCat("must be > 0 and < 1, got ", fraction,
                                                     "; to train without validation set valid to \"none\""));
    }
    CheckText(prefix + "text_column", data.text_column(), 1024);
    CheckText(prefix + "label_column", data.label_column(), 1024);
    CheckTexts(prefix + "feature_columns", data.feature_columns(), 1024);
    if (data.has_limit()) Positive(prefix + "limit", data.limit());
    // Empty: left to the parent (FillDefaults).
    if (CheckText(prefix + "tokenizer", data.tokenizer(), 4096) && !data.tokenizer().empty() &&
        data.tokenizer() != "words" && data.tokenizer() != "bytes" &&
        !absl::StartsWith(data.tokenizer(), "sentencepiece:/")) {
      Refuse(prefix + "tokenizer", absl::StrCat("must be words, bytes or sentencepiece:/PATH/OF/FILE.model, got ",
                                                Excerpt(data.tokenizer())));
    }
    CheckTokenizer(data);
    if (data.has_vocab_size()) Between(prefix + "vocab_size", data.vocab_size(), 8, 1000000);
    Between(prefix + "max_tokens", data.max_tokens(), 1, 4096);
    CheckPath(prefix + "labels", data.labels());
    CheckPath(prefix + "valid_labels", data.valid_labels());
    CheckText(prefix + "image_shape", data.image_shape(), 100);
    if (!data.token_type().empty() && data.token_type() != "uint16" && data.token_type() != "uint32") {
      Refuse(prefix + "token_type", absl::StrCat("must be uint16 or uint32, got ", Excerpt(data.token_type())));
    }
  }

  // What says it all itself leaves nothing to choose.
  void CheckTokenizer(const v1::Data& data) {
    const std::string prefix = "training.data.";
    const bool tokens = absl::EndsWith(data.source(), ".bin");
    const bool is_complete = data.tokenizer() == "bytes" || absl::StartsWith(data.tokenizer(), "sentencepiece:");
    if (tokens && !data.tokenizer().empty()) {
      Refuse(prefix + "tokenizer", "a .bin file holds tokens already; leave it out");
    } else if (!tokens && is_complete && data.has_vocab_size()) {
      Refuse(prefix + "vocab_size",
             absl::StrCat("the tokenizer ", Excerpt(data.tokenizer()), " has a vocabulary of its own; leave it out"));
    }
  }

  void CheckPath(const std::string& field, const std::string& path) {
    if (CheckText(field, path, 4096) && !path.empty() && path.front() != '/') {
      Refuse(field, absl::StrCat("must be an absolute path, got ", Excerpt(path)));
    }
  }

  void CheckSource(const std::string& field, const std::string& source) {
    if (!CheckText(field, source, 4096)) return;
    static const std::vector<std::string> kNames{"wordnet",     "wordnet:noun", "wordnet:verb",
                                                 "wordnet:adj", "wordnet:adv",  "fashion-mnist"};
    for (const std::string& name : kNames) {
      if (source == name) return;
    }
    const bool is_file = IsDataFile(source);
    if (is_file && source.front() == '/') return;
    const std::string shown = Excerpt(source);
    if (is_file) {
      Refuse(field, absl::StrCat("a file needs its absolute path, got ", shown));
    } else if (!source.empty() && source.front() == '/') {
      Refuse(field, absl::StrCat("the name of a file must end with one of ", DataFileEndings(), "; got ", shown));
    } else {
      const std::string near = NearestName(source, kNames);
      Refuse(field,
             absl::StrCat("unknown data ", shown, near.empty() ? "" : absl::StrCat(" (did you mean ", near, "?)"),
                          ": choose wordnet, wordnet:noun|verb|adj|adv, fashion-mnist or the path of a file that ends "
                          "with one of ",
                          DataFileEndings()));
    }
  }

  void CheckObjective(const v1::Training& training) {
    if (!Known("training.objective", training.objective(), v1::Objective_IsValid(training.objective()))) return;
    const v1::Objective objective = training.objective();
    const bool labels = objective == v1::OBJECTIVE_CLASSIFICATION || objective == v1::OBJECTIVE_REGRESSION;
    if (training.mode() == v1::MODE_PRETRAIN && labels) {
      Refuse("training.objective",
             "pretraining takes mlm, clm, embedding or denoising; for labels choose mode finetune");
    }
    if (training.mode() == v1::MODE_FINETUNE && !labels) {
      Refuse(
          "training.objective",
          "finetuning takes classification or regression; for mlm, clm, embedding or denoising choose mode pretrain");
    }
    const bool hides = objective == v1::OBJECTIVE_MLM || objective == v1::OBJECTIVE_EMBEDDING;
    if (hides && absl::EndsWith(training.data().source(), ".bin")) {
      Refuse("training.objective",
             "the ids of a token file are its own, and none stands for a hidden token; choose clm");
    }
  }

  void CheckOptimizer(const v1::Training& training) {
    const std::string prefix = "training.";
    const bool sgd = training.optimizer() == v1::OPTIMIZER_KIND_SGD;
    Known("training.optimizer", training.optimizer(), v1::OptimizerKind_IsValid(training.optimizer()));
    NotNegativeNumber(prefix + "weight_decay", training.weight_decay());
    Share(prefix + "momentum", training.momentum());
    if (training.momentum() > 0 && training.momentum() < 1 && !sgd) {
      Refuse(prefix + "momentum", "only sgd has momentum; choose optimizer sgd");
    }
    if (training.nesterov() && !(sgd && training.momentum() > 0)) {
      Refuse(prefix + "nesterov", "only sgd with a momentum has it; set optimizer sgd and momentum");
    }
    const auto of_adam = [&](const std::string& field, bool given) {
      if (given && sgd) Refuse(prefix + field, "only adam and adamw have it; choose one of them, or leave it out");
      return given && !sgd;
    };
    if (of_adam("beta1", training.has_beta1())) Share(prefix + "beta1", training.beta1());
    if (of_adam("beta2", training.has_beta2())) Share(prefix + "beta2", training.beta2());
    if (of_adam("eps", training.has_eps())) PositiveNumber(prefix + "eps", training.eps());
    if (training.has_clip()) PositiveNumber(prefix + "clip", training.clip());
    Known("training.precision", training.precision(), v1::Precision_IsValid(training.precision()));
    Known("training.nan_policy", training.nan_policy(), v1::NanPolicy_IsValid(training.nan_policy()));
  }

  void CheckSchedule(const v1::Training& training) {
    const std::string prefix = "training.";
    PositiveNumber(prefix + "lr", training.lr());
    Known("training.schedule", training.schedule(), v1::ScheduleKind_IsValid(training.schedule()));
    const bool step = training.schedule() == v1::SCHEDULE_KIND_STEP;
    const bool multistep = training.schedule() == v1::SCHEDULE_KIND_MULTISTEP;
    if (training.has_step_size() && !step) {
      Refuse(prefix + "step_size", "only the schedule step has it; choose schedule step, or leave it out");
    } else if (step) {
      Positive(prefix + "step_size", training.step_size());
    }
    if (training.has_gamma() && !step && !multistep) {
      Refuse(prefix + "gamma", "only step and multistep drop the rate by it; choose one of them, or leave it out");
    } else if (step || multistep) {
      PositiveNumber(prefix + "gamma", training.gamma());
    }
    NotNegative(prefix + "warmup", training.warmup());
    NotNegativeNumber(prefix + "min_lr", training.min_lr());
    const bool to_min =
        training.schedule() == v1::SCHEDULE_KIND_COSINE || training.schedule() == v1::SCHEDULE_KIND_LINEAR;
    if (training.min_lr() > 0 && !to_min) {
      Refuse(prefix + "min_lr", "only cosine and linear end there; choose one of these schedules");
    } else if (training.lr() > 0 && training.min_lr() > training.lr()) {
      Refuse(prefix + "min_lr", absl::StrCat("must not be above lr, ", training.lr(), "; got ", training.min_lr()));
    }
    if (multistep && training.milestones_size() == 0) {
      Refuse(prefix + "milestones", "not given: name the epochs at which multistep drops the rate, as in 30,60");
    }
    if (!multistep && training.milestones_size() > 0) {
      Refuse(prefix + "milestones", "only the schedule multistep has them; choose schedule multistep");
    }
    for (int i = 0; i < training.milestones_size(); ++i) {
      const int before = i == 0 ? 0 : training.milestones(i - 1);
      if (training.milestones(i) > before) continue;
      Refuse(absl::StrCat(prefix, "milestones[", i, "]"),
             absl::StrCat("must be above ", before, ", got ", training.milestones(i)));
      break;
    }
  }

  void CheckBest(const v1::Training& training) {
    static const std::vector<std::string> kMetrics{"valid_loss", "valid_acc", "train_loss", "train_acc"};
    const std::string& metric = training.best_metric();
    if (std::find(kMetrics.begin(), kMetrics.end(), metric) == kMetrics.end()) {
      Refuse("training.best_metric",
             absl::StrCat("must be valid_loss, valid_acc, train_loss or train_acc, got ", Excerpt(metric)));
    } else if (absl::EndsWith(metric, "_acc") && !HasAccuracy(training.objective())) {
      Refuse("training.best_metric",
             absl::StrCat("there is no ", metric, ": this objective has no accuracy; choose valid_loss or train_loss"));
    } else if (training.data().valid() == "none" && absl::StartsWith(metric, "valid_")) {
      Refuse("training.best_metric", absl::StrCat("there is no ", metric, " without validation (data.valid is none)"));
    }
    NotNegative("training.patience", training.patience());
  }

  void CheckTraining(const v1::Training& training) {
    const std::string prefix = "training.";
    if (Known("training.mode", training.mode(), v1::Mode_IsValid(training.mode())) &&
        training.mode() == v1::MODE_UNSPECIFIED) {
      Refuse("training.mode", "not given: choose pretrain or finetune");
    } else {
      CheckObjective(training);
    }
    CheckData(training.data());
    CheckText(prefix + "model.name", training.model().name(), 200);
    CheckText(prefix + "init_from", training.init_from(), 4096);
    CheckTexts(prefix + "reinit", training.reinit(), 1024);
    Positive(prefix + "epochs", training.epochs());
    if (training.has_max_steps()) Positive(prefix + "max_steps", training.max_steps());
    Positive(prefix + "batch_size", training.batch_size());
    if (training.has_micro_batch()) Positive(prefix + "micro_batch", training.micro_batch());
    CheckSchedule(training);
    CheckOptimizer(training);
    CheckBest(training);
    CheckTexts(prefix + "freeze", training.freeze(), 1024);
    NotNegative(prefix + "watch_every", training.watch_every());
    NotNegative(prefix + "checkpoint_every", training.checkpoint_every());
    Positive(prefix + "keep", training.keep());
    NotNegative(prefix + "valid_every", training.valid_every());
    if (training.valid_every() > 0 && training.data().valid() == "none") {
      Refuse(prefix + "valid_every", "there is no validation (data.valid is none); leave out one of the two");
    }
  }

  const MachineFacts& machine_;
  std::vector<v1::FieldViolation> violations_;
};

}  // namespace

std::vector<v1::FieldViolation> Validate(const v1::JobSpec& spec, const MachineFacts& machine) {
  return Validator(machine).Check(spec);
}

std::vector<v1::FieldViolation> ValidateLabels(const v1::JobSpec& spec) {
  return Validator(MachineFacts()).CheckOnlyLabels(spec);
}

}  // namespace ddp
