#include "client/spec_builder.h"

#include <yaml-cpp/yaml.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/exit_codes.h"
#include "client/spec_fields.h"
#include "common/data_files.h"
#include "common/files.h"
#include "common/text.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "spec/unknown_field.h"

namespace ddp {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

class YamlReader {
 public:
  explicit YamlReader(std::string file) : file_(std::move(file)) {}

  void ReadInto(v1::JobSpec& spec) const {
    absl::StatusOr<std::string> text = ReadFile(file_, size_t{1} << 20);
    if (!text.ok()) throw ExitError(kUsage, std::string(text.status().message()));
    YAML::Node root;
    try {
      root = YAML::Load(*text);
    } catch (const YAML::Exception& e) {
      throw ExitError(kUsage, absl::StrCat(file_, ":", e.mark.line + 1, ": ", e.msg));
    }
    if (!root.IsMap()) throw ExitError(kUsage, absl::StrCat(file_, ":1: must be a map of the fields of a job"));
    ReadMap(root, spec);
  }

 private:
  [[noreturn]] void Refuse(const YAML::Node& node, const std::string& name, const std::string& text) const {
    throw ExitError(kUsage, absl::StrCat(file_, ":", node.Mark().line + 1, ": ", name, name.empty() ? "" : ": ", text));
  }

  std::string Key(const YAML::Node& node) const {
    if (!node.IsScalar()) Refuse(node, "", "the name of a field must be one word");
    return node.Scalar();
  }
  void ReadMap(const YAML::Node& node, Message& message) const {
    for (const auto& item : node) {
      const std::string name = Key(item.first);
      const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
      if (field == nullptr) Refuse(item.first, "", UnknownField(*message.GetDescriptor(), name));
      if (item.second.IsNull()) continue;
      if (field->is_map()) {
        ReadOptions(item.second, name, static_cast<v1::Model&>(message));
      } else if (field->is_repeated()) {
        if (!item.second.IsSequence()) Refuse(item.second, name, "must be a list");
        for (const YAML::Node& element : item.second) ReadScalar(element, name, *field, message);
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        if (!item.second.IsMap()) Refuse(item.second, name, "must be a map of fields");
        ReadMap(item.second, *message.GetReflection()->MutableMessage(&message, field));
      } else {
        ReadScalar(item.second, name, *field, message);
      }
    }
  }
  void ReadScalar(const YAML::Node& node, const std::string& name, const FieldDescriptor& field,
                  Message& message) const {
    if (!node.IsScalar()) Refuse(node, name, "must be one value");
    const absl::Status status = SetValue(message, field, node.Scalar());
    if (!status.ok()) Refuse(node, name, std::string(status.message()));
  }
  void ReadOptions(const YAML::Node& node, const std::string& name, v1::Model& model) const {
    if (!node.IsMap()) Refuse(node, name, "must be a map of options");
    for (const auto& item : node) {
      if (!item.second.IsScalar()) Refuse(item.second, name, "must be one value");
      if (!IsValidUtf8(Key(item.first)) || !IsValidUtf8(item.second.Scalar()))
        Refuse(item.second, name, "must be UTF-8");
      (*model.mutable_options())[Key(item.first)] = item.second.Scalar();
    }
  }

  const std::string file_;
};

void ApplySet(v1::JobSpec& spec, const std::string& set) {
  const size_t equals = set.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw ExitError(kUsage, absl::StrCat("--set ", set, ": must be PATH=VALUE, as in training.lr=1e-3"));
  }
  const std::string path = set.substr(0, equals);
  const absl::Status status = SetField(spec, path, set.substr(equals + 1));
  if (!status.ok()) throw ExitError(kUsage, absl::StrCat("--set ", path, ": ", std::string(status.message())));
}

void ApplyFlag(v1::JobSpec& spec, const SpecFlag& flag, const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    std::string path = flag.field;
    std::vector<std::string> pieces{value};
    if (path == "training.data.feature_columns" || path == "training.milestones") pieces = absl::StrSplit(value, ',');
    if (path == "training.model.options") {
      const size_t equals = value.find('=');
      if (equals == std::string::npos || equals == 0) {
        throw ExitError(kUsage, absl::StrCat(flag.flag, ": must be NAME=VALUE, got \"", EscapeControls(value), "\""));
      }
      absl::StrAppend(&path, ".", value.substr(0, equals));
      pieces = {value.substr(equals + 1)};
    }
    for (const std::string& piece : pieces) {
      const absl::Status status = SetField(spec, path, piece);
      if (!status.ok()) throw ExitError(kUsage, absl::StrCat(flag.flag, ": ", std::string(status.message())));
    }
  }
}

// The daemon has another working folder.
std::string Absolute(const std::string& path) { return std::filesystem::absolute(path).lexically_normal().string(); }

void MakePathsAbsolute(v1::JobSpec& spec) {
  v1::Training& training = *spec.mutable_training();
  v1::Data& data = *training.mutable_data();
  if (IsDataFile(data.source())) data.set_source(Absolute(data.source()));
  if (!data.valid().empty() && data.valid() != "none") data.set_valid(Absolute(data.valid()));
  if (!data.labels().empty()) data.set_labels(Absolute(data.labels()));
  if (!data.valid_labels().empty()) data.set_valid_labels(Absolute(data.valid_labels()));
  constexpr char kSentencePiece[] = "sentencepiece:";
  if (absl::StartsWith(data.tokenizer(), kSentencePiece)) {
    data.set_tokenizer(kSentencePiece + Absolute(data.tokenizer().substr(sizeof(kSentencePiece) - 1)));
  }
  const std::string& from = training.init_from();
  if (absl::EndsWith(from, ".safetensors") || absl::StrContains(from, '/')) training.set_init_from(Absolute(from));
}

}  // namespace

const std::vector<SpecFlag>& SpecFlags() {
  static const std::vector<SpecFlag> kFlags{
      {"--mode", "training.mode", "pretrain or finetune", false},
      {"--objective", "training.objective",
       "mlm, clm, embedding or denoising to pretrain; classification or regression to finetune; default: what fits",
       false},
      {"--data", "training.data.source",
       "wordnet (default), wordnet:noun|verb|adj|adv, fashion-mnist, or a file: see docs/data.md", false,
       "wordnet|wordnet:noun|wordnet:verb|wordnet:adj|wordnet:adv|fashion-mnist|FILE"},
      {"--valid", "training.data.valid", "File to validate on, or none; default: hold out a part of the data", false,
       "none|FILE"},
      {"--valid-fraction", "training.data.valid_fraction", "Part that is held out without --valid (0.1)", false},
      {"--text-column", "training.data.text_column", "Column of a CSV/TSV file with the text", false},
      {"--feature-columns", "training.data.feature_columns", "Columns with numbers, separated by commas", true},
      {"--label-column", "training.data.label_column", "Column to learn", false},
      {"--limit", "training.data.limit", "Use only the first N training samples", false},
      {"--tokenizer", "training.data.tokenizer", "words (default), bytes, or sentencepiece:FILE.model", false,
       "words|bytes|sentencepiece:"},
      {"--vocab-size", "training.data.vocab_size", "Entries of the vocabulary (words 16384, token files 50257)", false},
      {"--labels", "training.data.labels", "File with the labels of IDX or npy data", false, "FILE"},
      {"--valid-labels", "training.data.valid_labels", "The same for the file of --valid", false, "FILE"},
      {"--image-shape", "training.data.image_shape", "CxHxW of the rows of tables or flat arrays", false},
      {"--token-type", "training.data.token_type", "uint16 (default) or uint32, of raw token files", false,
       "uint16|uint32"},
      {"--max-tokens", "training.data.max_tokens",
       "Texts are cut to, token files read in windows of this many (32, token files 256)", false},
      {"--model", "training.model.name", "text-encoder, gpt, convnet, resnet18 or mlp; default: what fits the data",
       false, "text-encoder|gpt|convnet|resnet18|mlp"},
      {"--model-option", "training.model.options", "NAME=VALUE, see docs/models.md; repeatable", true},
      {"--init-from", "training.init_from", "JOB, JOB@best, JOB@STEP, or a checkpoint folder or .safetensors file",
       false, "JOB|FILE"},
      {"--reinit", "training.reinit", "Pattern of tensor names that start fresh; repeatable", true},
      {"--freeze", "training.freeze", "Pattern of tensor names that are not trained; repeatable", true},
      {"--epochs", "training.epochs", "Epochs (9)", false},
      {"--max-steps", "training.max_steps", "Stop after this many optimizer steps", false},
      {"--batch-size", "training.batch_size", "Samples per optimizer step over all ranks (4096, token files 64)",
       false},
      {"--micro-batch", "training.micro_batch", "Samples per pass on one rank; default: chosen", false},
      {"--lr", "training.lr", "Learning rate (0.001)", false},
      {"--optimizer", "training.optimizer", "adam (default), adamw or sgd", false},
      {"--weight-decay", "training.weight_decay", "Weight decay (0)", false},
      {"--momentum", "training.momentum", "Momentum of sgd (0)", false},
      {"--nesterov", "training.nesterov", "true: Nesterov's momentum, with sgd", false},
      {"--beta1", "training.beta1", "Of adam and adamw (0.9)", false},
      {"--beta2", "training.beta2", "Of adam and adamw (0.999)", false},
      {"--eps", "training.eps", "Of adam and adamw (1e-8)", false},
      {"--clip", "training.clip", "Largest global norm of the gradient; default: none", false},
      {"--precision", "training.precision", "fp32 (default) or bf16", false},
      {"--nan-policy", "training.nan_policy", "stop (default), skip or rollback, on a loss that is not finite", false},
      {"--schedule", "training.schedule", "step (default), multistep, cosine, linear or constant", false},
      {"--warmup", "training.warmup", "Steps over which the learning rate rises (0)", false},
      {"--min-lr", "training.min_lr", "Where cosine and linear end (0)", false},
      {"--milestones", "training.milestones", "Epochs at which multistep drops the rate, as in 30,60", true},
      {"--step-size", "training.step_size", "Epochs between two drops of the schedule step (3)", false},
      {"--gamma", "training.gamma", "Factor of a drop of step and multistep (0.1)", false},
      {"--seed", "training.seed", "Seed of order, initial weights, masks and dropout (0)", false},
      {"--checkpoint-every", "training.checkpoint_every", "Also save every N steps", false},
      {"--keep", "training.keep", "Newest checkpoints to keep, beside the best one (3)", false},
      {"--best-metric", "training.best_metric", "valid_loss (default), valid_acc, train_loss or train_acc", false,
       "valid_loss|valid_acc|train_loss|train_acc"},
      {"--patience", "training.patience", "Stop after N epochs without a better best metric (0: never)", false},
      {"--watch-every", "training.watch_every", "Histograms of parameters and gradients every N steps", false},
      {"--valid-every", "training.valid_every", "Also validate every N steps", false},
      {"--nproc", "resources.nproc", "Number of ranks; default: all slots", false},
      {"--device", "resources.device", "auto (default), cpu or cuda", false},
      {"--backend", "resources.backend", "auto (default), shm, gloo or nccl", false},
      {"--name", "name", "Name for people", false},
      {"--tag", "tags", "Tag; repeatable", true},
      {"--priority", "priority", "Higher starts first, -1000 to 1000 (0)", false},
      {"--max-restarts", "max_restarts", "Failed attempts without progress that are forgiven (3)", false},
  };
  return kFlags;
}

std::string WordsOf(const SpecFlag& flag) { return *flag.words != 0 ? flag.words : FieldWords(flag.field); }

std::string FlagOf(const std::string& field) {
  const std::string plain = field.substr(0, field.find('['));
  for (const SpecFlag& flag : SpecFlags()) {
    if (plain == flag.field || absl::StartsWith(plain, absl::StrCat(flag.field, "."))) return flag.flag;
  }
  return plain == "training.model" ? "--model" : "";
}

v1::JobSpec BuildSpec(const SpecInput& input) {
  v1::JobSpec spec;
  if (!input.file.empty()) YamlReader(input.file).ReadInto(spec);
  for (const std::string& set : input.sets) ApplySet(spec, set);
  for (const SpecFlag& flag : SpecFlags()) {
    const auto given = input.flag_values.find(flag.flag);
    if (given != input.flag_values.end()) ApplyFlag(spec, flag, given->second);
  }
  // So that an empty job is told what training needs, with the names of flags.
  if (spec.workload_case() == v1::JobSpec::WORKLOAD_NOT_SET) spec.mutable_training();
  MakePathsAbsolute(spec);
  return spec;
}

}  // namespace ddp
