#include "worker/train/initial_weights.h"

#include <ATen/Functions.h>
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

// The file's tensors by the model's names for them; several for tied weights.
using Named = std::map<std::string, std::vector<const TensorInfo*>>;

Named NamesOf(const SafetensorsFile& file, const Model& model) {
  Named named;
  for (const TensorInfo& info : file.tensors()) {
    const std::string name = model.NameOf(info.name);
    if (!name.empty()) named[name].push_back(&info);
  }
  return named;
}

std::vector<TensorShape> ShapesOf(const Named& named) {
  std::vector<TensorShape> shapes;
  for (const auto& [name, infos] : named) shapes.push_back({name, infos.front()->shape});
  return shapes;
}

absl::Status Refusal(const std::string& path, const std::string& text) {
  return absl::FailedPreconditionError(absl::StrCat("training.init_from: ", path, ": ", text));
}

absl::StatusOr<LoadPlan> PlanFor(const Named& named, const std::string& path, const std::vector<std::string>& reinit,
                                 const Model& model) {
  absl::StatusOr<LoadPlan> plan = PlanLoad(ShapesOf(model), ShapesOf(named), model.TaskPrefixes(), reinit);
  if (!plan.ok()) return Refusal(path, std::string(plan.status().message()));
  for (const std::string& name : plan->load) {
    for (const TensorInfo* info : named.at(name)) {
      if (!IsFloatType(info->dtype)) {
        return Refusal(path, absl::StrCat("tensor \"", info->name, "\" is ", info->dtype,
                                          "; only F16, BF16, F32 and F64 can be loaded"));
      }
    }
    const std::string& dtype = named.at(name).front()->dtype;
    if (dtype != "F32") ++plan->converted[dtype];
  }
  return plan;
}

absl::Status LoadOne(const SafetensorsFile& file, const std::string& path, const TensorInfo& info,
                     const at::Tensor& into) {
  const absl::Status status = ReadInto(file, info, into);
  return absl::IsInvalidArgument(status) ? Refusal(path, std::string(status.message())) : status;
}

// Two tensors for one parameter must be equal: the model has them tied.
absl::Status CheckTied(const SafetensorsFile& file, const std::string& path,
                       const std::vector<const TensorInfo*>& infos, const at::Tensor& loaded) {
  for (size_t i = 1; i < infos.size(); ++i) {
    at::Tensor other = at::empty(infos[i]->shape);
    DDP_RETURN_IF_ERROR(LoadOne(file, path, *infos[i], other));
    if (other.equal(loaded.detach().cpu())) continue;
    return Refusal(path, absl::StrCat("tensors \"", infos[0]->name, "\" and \"", infos[i]->name,
                                      "\" differ, but the model has one tensor for both"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string LoadPlan::ToString() const {
  std::string text = absl::StrCat("loaded ", load.size(), " of ", load.size() + fresh.size(), " tensors");
  if (!converted.empty()) {
    absl::StrAppend(&text,
                    "; converted to float32: ", absl::StrJoin(converted, ", ", [](std::string* out, const auto& type) {
                      absl::StrAppend(out, type.second, " of ", type.first);
                    }));
  }
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

bool StartsHeadFresh(const Model& model, const std::vector<std::string>& reinit) {
  std::vector<std::string> head;
  for (const std::string& name : model.parameter_names()) {
    if (HasPrefix(name, model.TaskPrefixes())) head.push_back(name);
  }
  return !head.empty() &&
         std::all_of(head.begin(), head.end(), [&](const std::string& name) { return MatchesAny(name, reinit); });
}

std::string WeightsFile(const std::string& init_path) {
  return absl::EndsWith(init_path, ".safetensors") ? init_path : absl::StrCat(init_path, "/model.safetensors");
}

absl::StatusOr<LoadPlan> LoadInitialWeights(const std::string& path, const std::vector<std::string>& reinit,
                                            Model& model) {
  const std::string weights = WeightsFile(path);
  DDP_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(weights));
  const Named named = NamesOf(file, model);
  DDP_ASSIGN_OR_RETURN(LoadPlan plan, PlanFor(named, weights, reinit, model));
  for (const auto& [name, tensor] : model.state()) {
    if (std::find(plan.load.begin(), plan.load.end(), name) == plan.load.end()) continue;
    DDP_RETURN_IF_ERROR(LoadOne(file, weights, *named.at(name).front(), tensor));
    DDP_RETURN_IF_ERROR(CheckTied(file, weights, named.at(name), tensor));
  }
  return plan;
}

absl::StatusOr<LoadPlan> CheckInitialWeights(const std::string& path, const std::vector<std::string>& reinit,
                                             const Model& model) {
  const std::string weights = WeightsFile(path);
  DDP_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(weights));
  return PlanFor(NamesOf(file, model), weights, reinit, model);
}

}  // namespace ddp
