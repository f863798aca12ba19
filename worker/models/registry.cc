#include "worker/models/registry.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace ddp {

namespace {

using O = Objective;

struct Entry {
  const char* name;
  InputKind input;
  std::vector<Objective> objectives;
  ModelResult (*make)(const ModelOptions&, const ModelShape&, const at::Generator&);
};

const std::vector<Entry>& Entries() {
  static const std::vector<Entry> entries = {
      {"text-encoder", InputKind::kText, {O::kMlm, O::kEmbedding, O::kClassification}, MakeTextEncoder},
      {"mlp", InputKind::kFeatures, {O::kClassification, O::kRegression}, MakeMlp},
      {"rig-zero", InputKind::kFeatures, {O::kClassification}, MakeRigZero},
      {"rig-index", InputKind::kFeatures, {O::kRegression}, MakeRigIndex},
      {"rig-seed", InputKind::kFeatures, {O::kClassification}, MakeRigSeed},
      {"rig-drift", InputKind::kFeatures, {O::kRegression}, MakeRigDrift},
  };
  return entries;
}

absl::StatusOr<const Entry*> Find(const std::string& name) {
  for (const Entry& entry : Entries()) {
    if (name == entry.name) return &entry;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("training.model.name: there is no model '", name, "'; there are text-encoder and mlp"));
}

}  // namespace

absl::StatusOr<InputKind> ModelInput(const std::string& name) {
  absl::StatusOr<const Entry*> entry = Find(name);
  if (!entry.ok()) return entry.status();
  return (*entry)->input;
}

absl::StatusOr<std::unique_ptr<Model>> MakeModel(const std::string& name,
                                                 const std::map<std::string, std::string>& options,
                                                 const ModelShape& shape, uint64_t seed) {
  absl::StatusOr<const Entry*> entry = Find(name);
  if (!entry.ok()) return entry.status();
  const auto& objectives = (*entry)->objectives;
  if (std::find(objectives.begin(), objectives.end(), shape.objective) == objectives.end()) {
    return absl::InvalidArgumentError(absl::StrCat("training.objective: the model '", name, "' cannot be trained with ",
                                                   ObjectiveName(shape.objective)));
  }
  return (*entry)->make(options, shape, at::detail::createCPUGenerator(seed));
}

}  // namespace ddp
