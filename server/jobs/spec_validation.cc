#include "server/jobs/spec_validation.h"

#include <cmath>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "server/jobs/excerpt.h"

namespace ddp {

namespace {

class Validator {
 public:
  explicit Validator(const MachineFacts& machine) : machine_(machine) {}

  std::vector<v1::FieldViolation> Check(const v1::JobSpec& spec) {
    CheckText("name", spec.name(), 200);
    if (spec.tags_size() > 32) Refuse("tags", absl::StrCat("at most 32, got ", spec.tags_size()));
    CheckTexts("tags", spec.tags(), 64);
    Between("priority", spec.priority(), -1000, 1000);
    Between("max_restarts", spec.max_restarts(), 0, 1000);
    CheckResources(spec.resources());
    if (spec.has_training()) {
      CheckTraining(spec.training());
    } else {
      Refuse("training", "not given: say at least --mode pretrain or --mode finetune");
    }
    return std::move(violations_);
  }

 private:
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
    if (!(fraction > 0 && fraction < 1)) {
      Refuse(prefix + "valid_fraction", absl::StrCat("must be > 0 and < 1, got ", fraction,
                                                     "; to train without validation set valid to \"none\""));
    }
    CheckText(prefix + "text_column", data.text_column(), 1024);
    CheckText(prefix + "label_column", data.label_column(), 1024);
    CheckTexts(prefix + "feature_columns", data.feature_columns(), 1024);
    if (data.has_limit()) Positive(prefix + "limit", data.limit());
    if (data.tokenizer() != "words" && data.tokenizer() != "bytes") {
      Refuse(prefix + "tokenizer", absl::StrCat("must be words or bytes, got ", Excerpt(data.tokenizer())));
    }
    Between(prefix + "vocab_size", data.vocab_size(), 8, 1000000);
    Between(prefix + "max_tokens", data.max_tokens(), 1, 4096);
  }

  void CheckSource(const std::string& field, const std::string& source) {
    if (!CheckText(field, source, 4096)) return;
    static const std::vector<std::string> kNames{"wordnet",     "wordnet:noun", "wordnet:verb",
                                                 "wordnet:adj", "wordnet:adv",  "fashion-mnist"};
    for (const std::string& name : kNames) {
      if (source == name) return;
    }
    const bool is_file = absl::EndsWith(source, ".csv") || absl::EndsWith(source, ".tsv");
    if (is_file && source.front() == '/') return;
    const std::string shown = Excerpt(source);
    if (is_file) {
      Refuse(field, absl::StrCat("a file needs its absolute path, got ", shown));
    } else if (!source.empty() && source.front() == '/') {
      Refuse(field, absl::StrCat("only .csv and .tsv files can be read, got ", shown));
    } else {
      const std::string near = NearestName(source, kNames);
      Refuse(field,
             absl::StrCat(
                 "unknown data ", shown, near.empty() ? "" : absl::StrCat(" (did you mean ", near, "?)"),
                 ": choose wordnet, wordnet:noun|verb|adj|adv, fashion-mnist or the path of a .csv or .tsv file"));
    }
  }

  void CheckObjective(const v1::Training& training) {
    if (!Known("training.objective", training.objective(), v1::Objective_IsValid(training.objective()))) return;
    const bool token = training.objective() == v1::OBJECTIVE_MLM || training.objective() == v1::OBJECTIVE_EMBEDDING;
    if (training.mode() == v1::MODE_PRETRAIN && !token) {
      Refuse("training.objective", "pretraining takes mlm or embedding; for labels choose mode finetune");
    }
    if (training.mode() == v1::MODE_FINETUNE && token) {
      Refuse("training.objective",
             "finetuning takes classification or regression; for mlm or embedding choose mode pretrain");
    }
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
    PositiveNumber(prefix + "lr", training.lr());
    Known("training.optimizer", training.optimizer(), v1::OptimizerKind_IsValid(training.optimizer()));
    Known("training.schedule", training.schedule(), v1::ScheduleKind_IsValid(training.schedule()));
    if (!(std::isfinite(training.weight_decay()) && training.weight_decay() >= 0)) {
      Refuse(prefix + "weight_decay", absl::StrCat("must be a finite number >= 0, got ", training.weight_decay()));
    }
    if (!(training.momentum() >= 0 && training.momentum() < 1)) {
      Refuse(prefix + "momentum", absl::StrCat("must be >= 0 and < 1, got ", training.momentum()));
    } else if (training.momentum() > 0 && training.optimizer() != v1::OPTIMIZER_KIND_SGD) {
      Refuse(prefix + "momentum", "only sgd has momentum; choose optimizer sgd");
    }
    Positive(prefix + "step_size", training.step_size());
    PositiveNumber(prefix + "gamma", training.gamma());
    NotNegative(prefix + "checkpoint_every", training.checkpoint_every());
    Positive(prefix + "keep", training.keep());
    NotNegative(prefix + "valid_every", training.valid_every());
  }

  const MachineFacts& machine_;
  std::vector<v1::FieldViolation> violations_;
};

}  // namespace

std::vector<v1::FieldViolation> Validate(const v1::JobSpec& spec, const MachineFacts& machine) {
  return Validator(machine).Check(spec);
}

}  // namespace ddp
