// Weights from another job or a file.
#ifndef DDP_WORKER_TRAIN_INITIAL_WEIGHTS_H_
#define DDP_WORKER_TRAIN_INITIAL_WEIGHTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/models/model.h"

namespace ddp {

// One tensor of a weights file: its name and shape.
struct TensorShape {
  std::string name;
  std::vector<int64_t> shape;
};

struct LoadPlan {
  std::vector<std::string> load;         // taken from the file
  std::vector<std::string> fresh;        // keep their initial values
  std::vector<std::string> unused;       // in the file, not needed
  std::map<std::string, int> converted;  // how many of `load` are of another type than float32, by type
  // "loaded 28 of 30 tensors; converted to float32: 20 of BF16; fresh: head.weight, head.bias; not used: mlm.bias"
  std::string ToString() const;
};

// Which of the model's parameters come from the file. Parts of another objective (Model::TaskPrefixes) are dropped and
// start fresh; names that match a `reinit` glob start fresh; anything else that is missing, left over or of another
// shape is FailedPrecondition, naming the tensor and both shapes. Pure.
absl::StatusOr<LoadPlan> PlanLoad(const std::vector<TensorShape>& model, const std::vector<TensorShape>& file,
                                  const std::vector<std::string>& task_prefixes,
                                  const std::vector<std::string>& reinit);

// Loads parameters and buffers from a checkpoint folder (its model.safetensors) or a .safetensors file, by the names of
// Model::NameOf. F16, BF16 and F64 are converted to float32.
absl::StatusOr<LoadPlan> LoadInitialWeights(const std::string& path, const std::vector<std::string>& reinit,
                                            Model& model);

// Only compares shapes, without reading values.
absl::StatusOr<LoadPlan> CheckInitialWeights(const std::string& path, const std::vector<std::string>& reinit,
                                             const Model& model);

// Whether `reinit` starts all of what the model has for its objective only (Model::TaskPrefixes) fresh.
bool StartsHeadFresh(const Model& model, const std::vector<std::string>& reinit);

// The safetensors file that an init path means.
std::string WeightsFile(const std::string& init_path);

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_INITIAL_WEIGHTS_H_
