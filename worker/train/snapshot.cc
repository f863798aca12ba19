#include "worker/train/snapshot.h"

#include <ATen/Functions.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/status_macros.h"
#include "worker/checkpoint/folder.h"
#include "worker/formats/safetensors.h"
#include "worker/kernels/stream_copy.h"
#include "worker/models/outline.h"
#include "worker/train/initial_weights.h"
#include "worker/train/tensor_file.h"

namespace ddp {

namespace {

using Json = nlohmann::json;

constexpr Objective kObjectives[] = {Objective::kMlm,        Objective::kEmbedding, Objective::kClassification,
                                     Objective::kRegression, Objective::kClm,       Objective::kDenoising};

void CopyToHost(const NamedTensors& tensors, HostTensors* host) {
  host->names.clear();
  host->copies.resize(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, tensor] = tensors[i];
    host->names.push_back(name);
    at::Tensor& copy = host->copies[i];
    if (!copy.defined()) copy = at::empty_like(tensor.detach(), at::kCPU);
    if (tensor.is_cpu() && tensor.is_non_overlapping_and_dense() && copy.strides() == tensor.strides() &&
        copy.dtype() == tensor.dtype()) {
      StreamCopy(tensor.const_data_ptr(), copy.mutable_data_ptr(), tensor.nbytes());
    } else {
      copy.copy_(tensor.detach());
    }
  }
}

// All of our parameters and moments are float32.
FileToWrite TensorFile(const std::string& name, const HostTensors& tensors,
                       const std::map<std::string, std::string>& metadata) {
  return {name, [&tensors, metadata](CheckpointFile& file) {
            std::vector<TensorBytes> all;
            for (size_t i = 0; i < tensors.copies.size(); ++i) {
              const at::Tensor& copy = tensors.copies[i];
              all.push_back(
                  {.name = tensors.names[i], .dtype = "F32", .shape = copy.sizes().vec(), .bytes = copy.nbytes()});
            }
            DDP_RETURN_IF_ERROR(file.Append(SafetensorsHeader(all, metadata)));
            for (const at::Tensor& copy : tensors.copies) {
              const at::Tensor plain = copy.contiguous();  // the step has not waited for this
              DDP_RETURN_IF_ERROR(file.Append({static_cast<const char*>(plain.const_data_ptr()), plain.nbytes()}));
            }
            return absl::OkStatus();
          }};
}

// JSON has no NaN and no infinity: such a number is left out.
void PutFinite(Json& json, const char* name, const std::optional<double>& value) {
  if (value && std::isfinite(*value)) json[name] = *value;
}

std::optional<double> GetNumber(const Json& json, const char* name) {
  if (!json.contains(name)) return std::nullopt;
  return json.at(name).get<double>();
}

std::string StateJson(const SnapshotInfo& info) {
  const TrainState& state = info.state;
  Json json{{"model", {{"name", info.model_name}, {"options", info.model_options}}},
            {"objective", ObjectiveName(info.objective)},
            {"shape",
             {{"vocab", info.shape.vocab},
              {"max_tokens", info.shape.max_tokens},
              {"features", info.shape.features},
              {"classes", info.shape.classes},
              {"channels", info.shape.channels},
              {"height", info.shape.height},
              {"width", info.shape.width}}},
            {"class_names", info.class_names},
            {"data_fingerprint", info.data_fingerprint},
            {"batch_size", info.batch_size},
            {"optimizer_steps", info.optimizer_steps},
            {"step", state.step},
            {"epoch", state.epoch},
            {"position", state.position},
            {"epoch_loss", state.epoch_loss},
            {"epoch_correct", state.epoch_correct},
            {"epoch_count", state.epoch_count},
            {"best_step", state.best.step},
            {"stale_epochs", state.best.stale_epochs},
            {"skipped_in_row", state.skipped_in_row},
            {"left_out", state.left_out}};
  if (!info.tokenizer.empty()) json["tokenizer"] = Json::parse(info.tokenizer);
  PutFinite(json, "valid_loss", state.valid_loss);
  PutFinite(json, "valid_accuracy", state.valid_accuracy);
  PutFinite(json, "best_value", state.best.value);
  // Class names may hold any bytes that the data's encoding allows; the reader checks UTF-8 before.
  return json.dump(1) + "\n";
}

SnapshotInfo FromJson(const Json& json) {
  SnapshotInfo info;
  info.model_name = json.at("model").at("name").get<std::string>();
  info.model_options = json.at("model").at("options").get<std::map<std::string, std::string>>();
  const auto objective = json.at("objective").get<std::string>();
  for (const Objective o : kObjectives) {
    if (objective == ObjectiveName(o)) info.objective = o;
  }
  const Json& shape = json.at("shape");
  info.shape = {.objective = info.objective,
                .vocab = shape.at("vocab").get<int64_t>(),
                .max_tokens = shape.at("max_tokens").get<int64_t>(),
                .features = shape.at("features").get<int64_t>(),
                .classes = shape.at("classes").get<int64_t>(),
                .channels = shape.value("channels", int64_t{0}),
                .height = shape.value("height", int64_t{0}),
                .width = shape.value("width", int64_t{0})};
  info.class_names = json.at("class_names").get<std::vector<std::string>>();
  info.data_fingerprint = json.at("data_fingerprint").get<std::string>();
  info.batch_size = json.at("batch_size").get<int64_t>();
  info.optimizer_steps = json.at("optimizer_steps").get<int64_t>();
  if (json.contains("tokenizer")) info.tokenizer = json.at("tokenizer").dump();
  info.state = {.step = json.at("step").get<int64_t>(),
                .epoch = json.at("epoch").get<int64_t>(),
                .position = json.at("position").get<int64_t>(),
                .epoch_loss = json.at("epoch_loss").get<double>(),
                .epoch_correct = json.at("epoch_correct").get<double>(),
                .epoch_count = json.at("epoch_count").get<double>(),
                .valid_loss = GetNumber(json, "valid_loss"),
                .valid_accuracy = GetNumber(json, "valid_accuracy"),
                .best = {.value = GetNumber(json, "best_value"),
                         .step = json.value("best_step", int64_t{-1}),
                         .stale_epochs = json.value("stale_epochs", 0)},
                .skipped_in_row = json.value("skipped_in_row", 0),
                .left_out = json.value("left_out", std::vector<int64_t>{})};
  return info;
}

// Also when a crash came before the note of an earlier step, or the note is of steps that were given up.
absl::Status NoteBest(const WorkerConfig& config, const BestEpoch& best) {
  const std::string path = config.checkpoint_dir + "/" + kBestName;
  const Json note{{"step", best.step}, {"metric", config.training.best_metric}, {"value", *best.value}};
  const std::string text = note.dump() + "\n";
  if (const absl::StatusOr<std::string> noted = ReadFile(path); noted.ok() && *noted == text) return absl::OkStatus();
  if (!Exists(config.checkpoint_dir + "/" + CheckpointName(best.step))) return absl::OkStatus();
  return WriteFileAtomic(path, text);
}

}  // namespace

void TakeSnapshot(const SnapshotInfo& info, const Model& model, const Optimizer& optimizer, Snapshot* snapshot) {
  snapshot->info = info;
  CopyToHost(model.state(), &snapshot->weights);
  CopyToHost(optimizer.state(), &snapshot->moments);
}

absl::StatusOr<std::string> WriteSnapshot(const WorkerConfig& config, const Snapshot& snapshot) {
  const TrainState& train = snapshot.info.state;
  const std::string state = StateJson(snapshot.info);
  const std::map<std::string, std::string> metadata{{"format", "pt"}, {"ddpd_step", absl::StrCat(train.step)}};
  DDP_ASSIGN_OR_RETURN(
      std::string folder,
      CommitCheckpoint(config.checkpoint_dir, train.step, config.attempt,
                       {TensorFile("model.safetensors", snapshot.weights, metadata),
                        TensorFile("optimizer.safetensors", snapshot.moments, metadata),
                        {"state.json", [&state](CheckpointFile& file) { return file.Append(state); }}}));
  // The step is saved, whatever becomes of the notes and of the older ones.
  absl::Status status;
  if (train.best.step >= 0) status = NoteBest(config, train.best);
  if (status.ok()) {
    status = ApplyRetention(config.checkpoint_dir, config.training.keep, train.step, train.best.step);
  }
  if (!status.ok()) std::fprintf(stderr, "old checkpoints stay: %s\n", std::string(status.message()).c_str());
  return folder;
}

absl::StatusOr<SnapshotInfo> ReadSnapshotInfo(const std::string& folder) {
  const std::string path = folder + "/state.json";
  DDP_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  try {
    return FromJson(json);
  } catch (const Json::exception& e) {
    return absl::DataLossError(absl::StrCat(path, ": ", e.what()));
  }
}

absl::StatusOr<std::vector<std::string>> KeptClasses(const SnapshotInfo& from, const TrainingConfig& training) {
  if (from.objective != Objective::kClassification) return std::vector<std::string>();
  DDP_ASSIGN_OR_RETURN(const std::unique_ptr<Model> model,
                       MakeOutline(from.model_name, from.model_options, from.shape));
  return StartsHeadFresh(*model, training.reinit) ? std::vector<std::string>() : from.class_names;
}

absl::Status LoadExactly(const std::string& path, const NamedTensors& into) {
  DDP_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path));
  if (file.tensors().size() != into.size()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": holds ", file.tensors().size(), " tensors, ", into.size(), " are needed"));
  }
  for (const auto& [name, tensor] : into) {
    const TensorInfo* info = file.Find(name);
    if (info == nullptr) return absl::FailedPreconditionError(absl::StrCat(path, ": no tensor \"", name, "\""));
    if (info->dtype != "F32" || tensor.sizes() != at::IntArrayRef(info->shape)) {
      return absl::FailedPreconditionError(absl::StrCat(path, ": tensor \"", name, "\" is ", info->dtype,
                                                        ShapeText(info->shape), ", needed is F32",
                                                        ShapeText(tensor.sizes())));
    }
    DDP_RETURN_IF_ERROR(ReadInto(file, *info, tensor));
  }
  return absl::OkStatus();
}

}  // namespace ddp
