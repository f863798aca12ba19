#include "worker/train/initial_weights.h"

#include <fnmatch.h>

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "worker/formats/safetensors.h"
#include "worker/train/tensor_file.h"

namespace ddp {

namespace {

bool MatchesAny(const std::string& name, const std::vector<std::string>& globs) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return fnmatch(glob.c_str(), name.c_str(), 0) == 0; });
}

bool HasPrefix(const std::string& name, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return absl::StartsWith(name, prefix); });
}

std::vector<TensorShape> ShapesOf(const Model& model) {
  std::vector<TensorShape> shapes;
  for (const auto& [name, tensor] : model.state()) shapes.push_back({name, tensor.sizes().vec()});
  return shapes;
}

std::vector<TensorShape> ShapesOf(const SafetensorsFile& file) {
  std::vector<TensorShape> shapes;
  for (const TensorInfo& info : file.tensors()) shapes.push_back({info.name, info.shape});
  return shapes;
}

absl::StatusOr<LoadPlan> PlanFor(const SafetensorsFile& file, const std::string& path,
                                 const std::vector<std::string>& reinit, const Model& model) {
  absl::StatusOr<LoadPlan> plan = PlanLoad(ShapesOf(model), ShapesOf(file), model.TaskPrefixes(), reinit);
  if (!plan.ok()) {
    return absl::Status(plan.status().code(),
                        absl::StrCat("training.init_from: ", path, ": ", std::string(plan.status().message())));
  }
  for (const std::string& name : plan->load) {
    const TensorInfo* info = file.Find(name);
    if (info->dtype != "F32") {
      return absl::FailedPreconditionError(absl::StrCat("training.init_from: ", path, ": tensor \"", name, "\" is ",
                                                        info->dtype, "; only F32 can be loaded"));
    }
  }
  return plan;
}

}  // namespace

std::string LoadPlan::ToString() const {
  std::string text = absl::StrCat("loaded ", load.size(), " of ", load.size() + fresh.size(), " tensors");
  if (!fresh.empty()) absl::StrAppend(&text, "; fresh: ", absl::StrJoin(fresh, ", "));
  if (!unused.empty()) absl::StrAppend(&text, "; not used: ", absl::StrJoin(unused, ", "));
  return text;
}

absl::StatusOr<LoadPlan> PlanLoad(const std::vector<TensorShape>& model, const std::vector<TensorShape>& file,
                                  const std::vector<std::string>& task_prefixes,
                                  const std::vector<std::string>& reinit) {
  std::map<std::string, const TensorShape*> rest;
  for (const TensorShape& tensor : file) rest[tensor.name] = &tensor;
  LoadPlan plan;
  for (const TensorShape& needed : model) {
    const auto found = rest.find(needed.name);
    if (MatchesAny(needed.name, reinit)) {
      plan.fresh.push_back(needed.name);
      if (found != rest.end()) plan.unused.push_back(needed.name);
    } else if (found == rest.end()) {
      if (!HasPrefix(needed.name, task_prefixes)) {
        return absl::FailedPreconditionError(absl::StrCat("no tensor \"", needed.name, "\" ", ShapeText(needed.shape),
                                                          ", which the model needs; --reinit '", needed.name,
                                                          "' starts it fresh"));
      }
      plan.fresh.push_back(needed.name);
    } else if (found->second->shape != needed.shape) {
      return absl::FailedPreconditionError(
          absl::StrCat("tensor \"", needed.name, "\" has the shape ", ShapeText(found->second->shape),
                       ", the model needs ", ShapeText(needed.shape),
                       "; choose the same model options, or start it fresh with --reinit '", needed.name, "'"));
    } else {
      plan.load.push_back(needed.name);
    }
    if (found != rest.end()) rest.erase(found);
  }
  for (const auto& [name, tensor] : rest) {
    if (!HasPrefix(name, task_prefixes) && !MatchesAny(name, reinit)) {
      return absl::FailedPreconditionError(absl::StrCat("tensor \"", name, "\" ", ShapeText(tensor->shape),
                                                        " has no place in the model; --reinit '", name,
                                                        "' ignores it"));
    }
    plan.unused.push_back(name);
  }
  return plan;
}

std::string WeightsFile(const std::string& init_path) {
  return absl::EndsWith(init_path, ".safetensors") ? init_path : absl::StrCat(init_path, "/model.safetensors");
}

absl::StatusOr<LoadPlan> LoadInitialWeights(const std::string& path, const std::vector<std::string>& reinit,
                                            Model& model) {
  const std::string weights = WeightsFile(path);
  DDP_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(weights));
  DDP_ASSIGN_OR_RETURN(LoadPlan plan, PlanFor(file, weights, reinit, model));
  for (const auto& [name, tensor] : model.state()) {
    if (std::find(plan.load.begin(), plan.load.end(), name) == plan.load.end()) continue;
    DDP_RETURN_IF_ERROR(ReadInto(file, *file.Find(name), tensor));
  }
  return plan;
}

absl::StatusOr<LoadPlan> CheckInitialWeights(const std::string& path, const std::vector<std::string>& reinit,
                                             const Model& model) {
  const std::string weights = WeightsFile(path);
  DDP_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(weights));
  return PlanFor(file, weights, reinit, model);
}

}  // namespace ddp
