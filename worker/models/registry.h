// The models that are compiled in.
#ifndef DDP_WORKER_MODELS_REGISTRY_H_
#define DDP_WORKER_MODELS_REGISTRY_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "worker/models/model.h"

namespace ddp {

enum class InputKind { kText, kFeatures, kImages };

// InvalidArgument with the field's path for an unknown name or option, or an objective that the model cannot train.
absl::StatusOr<std::unique_ptr<Model>> MakeModel(const std::string& name,
                                                 const std::map<std::string, std::string>& options,
                                                 const ModelShape& shape, uint64_t seed);
absl::StatusOr<InputKind> ModelInput(const std::string& name);

// One per model file; called by the registry only.
using ModelResult = absl::StatusOr<std::unique_ptr<Model>>;
using ModelOptions = std::map<std::string, std::string>;
ModelResult MakeMlp(const ModelOptions& options, const ModelShape& shape, const at::Generator& generator);
ModelResult MakeTextEncoder(const ModelOptions& options, const ModelShape& shape, const at::Generator& generator);
ModelResult MakeRigZero(const ModelOptions& options, const ModelShape& shape, const at::Generator& generator);
ModelResult MakeRigIndex(const ModelOptions& options, const ModelShape& shape, const at::Generator& generator);
ModelResult MakeRigSeed(const ModelOptions& options, const ModelShape& shape, const at::Generator& generator);
ModelResult MakeRigDrift(const ModelOptions& options, const ModelShape& shape, const at::Generator& generator);

}  // namespace ddp

#endif  // DDP_WORKER_MODELS_REGISTRY_H_
