#include "worker/train/check.h"

#include <unistd.h>

#include <memory>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files.h"
#include "common/status_macros.h"
#include "worker/data/dataset.h"
#include "worker/data/raw_samples.h"
#include "worker/models/outline.h"
#include "worker/models/registry.h"
#include "worker/train/initial_weights.h"
#include "worker/train/snapshot.h"
#include "worker/train/step_policy.h"

namespace ddp {

namespace {

// Errors of the rooms below begin with the field's path, as in "training.model.name: ...".
void Add(CheckOutput& output, const std::string& fallback_field, const std::string& message) {
  const size_t colon = message.find(": ");
  const std::string head = message.substr(0, colon);
  const bool has_field = colon != std::string::npos && head.find(' ') == std::string::npos &&
                         (head.rfind("training", 0) == 0 || head.rfind("resources", 0) == 0);
  if (has_field) {
    output.violations.emplace_back(head, message.substr(colon + 2));
  } else {
    output.violations.emplace_back(fallback_field, message);
  }
}

// What is not known before all data is read is taken from the parent, or stands in with the smallest possible value:
// enough to check options and, with a parent, shapes.
ModelShape ShapeFor(const TrainingConfig& training, const Probe& probe, const SnapshotInfo* parent) {
  ModelShape shape{.objective = training.objective,
                   .vocab = training.data.vocab_size,
                   .max_tokens = training.data.max_tokens,
                   .features = probe.feature_dim,
                   .classes = std::max<int64_t>(2, static_cast<int64_t>(probe.class_names.size())),
                   .channels = probe.image.channels,
                   .height = probe.image.height,
                   .width = probe.image.width};
  if (probe.vocabulary > 0) shape.vocab = probe.vocabulary;
  if (parent != nullptr && parent->shape.vocab > 0) shape.vocab = parent->shape.vocab;
  if (parent != nullptr && parent->shape.classes > 0) shape.classes = parent->shape.classes;
  return shape;
}

// The first label that LoadDataset would refuse. classes: the parent's, or those of training data that was read as a
// whole; empty: not known.
void CheckLabels(const std::vector<SeenLabel>& labels, const std::vector<std::string>& classes, CheckOutput* output) {
  const std::set<std::string> known(classes.begin(), classes.end());
  for (const SeenLabel& seen : labels) {
    if (known.empty() || known.count(seen.label) > 0) continue;
    output->violations.emplace_back(seen.field, UnknownClassText(seen.label, classes.size()));
    return;
  }
}

// Whether the spec's tokenizer, which may be left open, is that of the parent.
absl::StatusOr<bool> IsTokenizer(const DataSpec& data, const Tokenizer& parent) {
  if (data.tokenizer.empty()) return true;
  DDP_ASSIGN_OR_RETURN(const std::optional<Tokenizer> named, NamedTokenizer(data));
  return named ? named->ToJson() == parent.ToJson() : parent.name() == "words";
}

// The parent's tokenizer is the job's, which may say the same but nothing else; what it leaves open is filled in.
absl::Status TakeTokenizer(const SnapshotInfo& parent, DataSpec* data) {
  if (parent.tokenizer.empty()) {
    if (!data->tokenizer.empty() && data->vocab_size > 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "training.init_from: was not trained on text and has no tokenizer to take: set training.data.tokenizer and "
        "training.data.vocab_size");
  }
  DDP_ASSIGN_OR_RETURN(const Tokenizer tokenizer, Tokenizer::FromJson(parent.tokenizer));
  DDP_RETURN_IF_ERROR(CheckTokenizerOf(tokenizer, data->source));
  DDP_ASSIGN_OR_RETURN(const bool same, IsTokenizer(*data, tokenizer));
  if (!same) {
    return FieldError(kTokenizerField,
                      absl::StrCat(data->tokenizer, " is not the tokenizer that init_from was trained ", "with (",
                                   std::string(tokenizer.name()), "), whose numbers its weights know: leave it out"));
  }
  if (data->vocab_size > 0 && data->vocab_size != tokenizer.vocab_size()) {
    return absl::InvalidArgumentError(absl::StrCat("training.data.vocab_size: ", data->vocab_size,
                                                   ", but the vocabulary of init_from has ", tokenizer.vocab_size(),
                                                   " entries and is taken as it is: leave it out"));
  }
  data->vocab_size = static_cast<int>(tokenizer.vocab_size());
  return absl::OkStatus();
}

// Parameters, and of those that are trained the gradients and what the optimizer keeps, of all ranks: a model for which
// there is no room even before it computes anything. On GPUs the ranks make the parameters in the host's memory first.
void CheckMemory(const CheckInput& input, const Model& model, const std::vector<bool>& frozen, CheckOutput* output) {
  const TrainingConfig& training = input.training;
  const int64_t moments = training.optimizer == OptimizerKind::kSgd ? (training.momentum > 0 ? 1 : 0) : 2;
  int64_t numbers = 0;
  for (size_t i = 0; i < frozen.size(); ++i) {
    numbers += model.parameters()[i].second.numel() * (frozen[i] || input.cuda ? 1 : 2 + moments);
  }
  constexpr double kGiB = 1 << 30;
  const double needed = static_cast<double>(numbers) * sizeof(float) * input.world_size / kGiB;
  const double there = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE)) / kGiB;
  if (needed <= there) return;
  output->violations.emplace_back(
      "training.model",
      absl::StrFormat("%d parameters%s take %.1f GiB on %d rank%s, and this machine has %.1f GiB of memory: choose a "
                      "smaller model, or fewer ranks",
                      model.parameter_count(),
                      input.cuda ? "" : " with their gradients and what the optimizer keeps of them", needed,
                      input.world_size, input.world_size == 1 ? "" : "s", there));
}

CheckOutput DescribeParent(const std::string& folder) {
  CheckOutput output;
  absl::StatusOr<SnapshotInfo> info = ReadSnapshotInfo(folder);
  if (!info.ok()) {
    Add(output, "training.init_from", std::string(info.status().message()));
  } else {
    output.parent = {info->model_name, info->model_options, info->shape.max_tokens};
  }
  return output;
}

}  // namespace

CheckOutput CheckSpec(const CheckInput& input) {
  if (input.parent_only) return DescribeParent(input.init_path);
  CheckOutput output;
  TrainingConfig training = input.training;
  const absl::StatusOr<InputKind> kind = ModelInput(training.model_name);
  if (!kind.ok()) Add(output, "training.model.name", std::string(kind.status().message()));

  SnapshotInfo parent;
  const bool has_parent = !input.init_path.empty() && WeightsFile(input.init_path) != input.init_path;
  if (has_parent) {
    absl::StatusOr<SnapshotInfo> info = ReadSnapshotInfo(input.init_path);
    if (!info.ok()) {
      Add(output, "training.init_from", std::string(info.status().message()));
      return output;
    }
    parent = *std::move(info);
    if (kind.ok() && *kind == InputKind::kText) {
      const absl::Status taken = TakeTokenizer(parent, &training.data);
      if (!taken.ok()) Add(output, "training.init_from", std::string(taken.message()));
    }
    if (!output.violations.empty()) return output;
  }

  const Probe probe = ProbeDataset(training.data, std::max<int64_t>(input.world_size, training.batch_size));
  for (const DataProblem& problem : probe.problems) output.violations.emplace_back(problem.field, problem.text);
  if (!output.violations.empty()) return output;

  if ((*kind == InputKind::kText) != probe.has_text) {
    output.violations.emplace_back("training.model.name",
                                   *kind == InputKind::kText
                                       ? absl::StrCat(training.model_name, " reads text, but ", training.data.source,
                                                      " has none: name a text column, or choose the model mlp")
                                       : absl::StrCat(training.model_name, " reads numbers, but ", training.data.source,
                                                      " is text: choose the model text-encoder, or feature columns"));
  }
  if (probe.complete && probe.train_rows < input.world_size) {
    output.violations.emplace_back(
        "resources.nproc", absl::StrCat(input.world_size, " ranks, but only ", probe.train_rows,
                                        " training samples: each rank needs one; use fewer ranks or more data"));
  }
  if (probe.complete && probe.train_rows < training.batch_size) {
    output.notices.push_back(absl::StrCat("batch_size ", training.batch_size, " will be lowered to ", probe.train_rows,
                                          ": there are no more training samples"));
  }
  if (!output.violations.empty()) return output;

  const absl::StatusOr<std::vector<std::string>> kept = KeptClasses(parent, training);
  if (!kept.ok()) {
    Add(output, "training.init_from", std::string(kept.status().message()));
    return output;
  }
  CheckLabels(probe.labels, kept->empty() ? probe.class_names : *kept, &output);
  if (!output.violations.empty()) return output;
  const ModelShape shape = ShapeFor(training, probe, has_parent ? &parent : nullptr);
  const absl::StatusOr<std::unique_ptr<Model>> model = MakeOutline(training.model_name, training.model_options, shape);
  if (!model.ok()) {
    Add(output, "training.model", std::string(model.status().message()));
    return output;
  }
  const auto frozen = FrozenNames((*model)->parameter_names(), training.freeze);
  if (!frozen.ok()) {
    Add(output, "training.freeze", std::string(frozen.status().message()));
    return output;
  }
  CheckMemory(input, **model, *frozen, &output);
  if (!output.violations.empty()) return output;
  if (input.init_path.empty()) return output;
  if (!has_parent && !Exists(input.init_path)) {
    output.violations.emplace_back("training.init_from", absl::StrCat("there is no file ", input.init_path));
    return output;
  }
  if (!has_parent && probe.has_text && training.data.tokenizer == "words") {
    output.notices.push_back(
        absl::StrCat(input.init_path, " holds no tokenizer: the vocabulary is built from this job's training data"));
    return output;  // its size is not known before all data is read
  }
  const absl::StatusOr<LoadPlan> plan = CheckInitialWeights(input.init_path, training.reinit, **model);
  if (!plan.ok()) Add(output, "training.init_from", std::string(plan.status().message()));
  return output;
}

}  // namespace ddp
