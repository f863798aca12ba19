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

// A model's file defines its maker, ModelResult MakeName(const ModelOptions&, const ModelShape&, const at::Generator&),
// and registry.cc names it in its line. The maker draws initial weights from the generator; errors begin with the
// field's path.
using ModelResult = absl::StatusOr<std::unique_ptr<Model>>;
using ModelOptions = std::map<std::string, std::string>;

}  // namespace ddp

#endif  // DDP_WORKER_MODELS_REGISTRY_H_
