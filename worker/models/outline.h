// A model without its values.
#ifndef DDP_WORKER_MODELS_OUTLINE_H_
#define DDP_WORKER_MODELS_OUTLINE_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "worker/models/model.h"

namespace ddp {

// As MakeModel, but random initial values are tensors on the meta device: they have shapes and take no memory, however
// large the model is. Such a model cannot compute.
absl::StatusOr<std::unique_ptr<Model>> MakeOutline(const std::string& name,
                                                   const std::map<std::string, std::string>& options,
                                                   const ModelShape& shape);

}  // namespace ddp

#endif  // DDP_WORKER_MODELS_OUTLINE_H_
