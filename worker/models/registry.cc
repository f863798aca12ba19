#include "worker/models/registry.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text.h"
#include "worker/models/outline.h"

// The models, a line each: name, what it reads, its maker (in the model's own file), the objectives it can be trained
// with.
#define DDP_MODELS(MODEL)                                                                     \
  MODEL("text-encoder", kText, MakeTextEncoder, O::kMlm, O::kEmbedding, O::kClassification)   \
  MODEL("gpt", kText, MakeGpt, O::kClm, O::kClassification)                                   \
  MODEL("convnet", kImages, MakeConvnet, O::kDenoising, O::kClassification, O::kRegression)   \
  MODEL("resnet18", kImages, MakeResnet18, O::kDenoising, O::kClassification, O::kRegression) \
  MODEL("mlp", kFeatures, MakeMlp, O::kDenoising, O::kClassification, O::kRegression)         \
  MODEL("rig-zero", kFeatures, MakeRigZero, O::kClassification)                               \
  MODEL("rig-index", kFeatures, MakeRigIndex, O::kRegression)                                 \
  MODEL("rig-seed", kFeatures, MakeRigSeed, O::kClassification)                               \
  MODEL("rig-drift", kFeatures, MakeRigDrift, O::kRegression)

namespace ddp {

#define DDP_DECLARE(name, input, make, ...) \
  ModelResult make(const ModelOptions& options, const ModelShape& shape, const at::Generator& generator);
DDP_MODELS(DDP_DECLARE)
#undef DDP_DECLARE

namespace {

using O = Objective;

struct Entry {
  const char* name;
  InputKind input;
  std::vector<Objective> objectives;
  ModelResult (*make)(const ModelOptions&, const ModelShape&, const at::Generator&);
};

const std::vector<Entry>& Entries() {
#define DDP_MODEL(name, input, make, ...) {name, InputKind::input, {__VA_ARGS__}, make},
  static const std::vector<Entry> entries = {DDP_MODELS(DDP_MODEL)};
#undef DDP_MODEL
  return entries;
}

// Those that are there for tests only.
bool IsRig(const std::string& name) { return absl::StartsWith(name, "rig-"); }

absl::StatusOr<const Entry*> Find(const std::string& name) {
  std::vector<std::string> names;
  for (const Entry& entry : Entries()) {
    if (name == entry.name) return &entry;
    if (!IsRig(entry.name)) names.push_back(entry.name);
  }
  const std::string nearest = NearestName(name, names);
  return absl::InvalidArgumentError(absl::StrCat("training.model.name: there is no model '", name, "'",
                                                 nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?"),
                                                 " There are: ", absl::StrJoin(names, ", ")));
}

std::string ObjectiveNames(const std::vector<Objective>& objectives) {
  return absl::StrJoin(objectives, ", ",
                       [](std::string* out, Objective objective) { out->append(ObjectiveName(objective)); });
}

ModelResult Make(const std::string& name, const ModelOptions& options, const ModelShape& shape,
                 const at::Generator& generator) {
  absl::StatusOr<const Entry*> entry = Find(name);
  if (!entry.ok()) return entry.status();
  const auto& objectives = (*entry)->objectives;
  if (std::find(objectives.begin(), objectives.end(), shape.objective) == objectives.end()) {
    return absl::InvalidArgumentError(absl::StrCat("training.objective: the model '", name, "' cannot be trained with ",
                                                   ObjectiveName(shape.objective), "; it can with ",
                                                   ObjectiveNames(objectives)));
  }
  return (*entry)->make(options, shape, generator);
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
  return Make(name, options, shape, at::detail::createCPUGenerator(seed));
}

absl::StatusOr<std::unique_ptr<Model>> MakeOutline(const std::string& name,
                                                   const std::map<std::string, std::string>& options,
                                                   const ModelShape& shape) {
  // Rigs have a few weights and draw them in their own way.
  return Make(name, options, shape, IsRig(name) ? at::detail::createCPUGenerator(0) : at::Generator());
}

}  // namespace ddp
