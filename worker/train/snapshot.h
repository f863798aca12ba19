// What a checkpoint holds: model.safetensors, optimizer.safetensors, and state.json (TrainState and what is needed to
// make sense of the weights). Folders, manifests and atomicity are worker/checkpoint/'s.
#ifndef DDP_WORKER_TRAIN_SNAPSHOT_H_
#define DDP_WORKER_TRAIN_SNAPSHOT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/config.h"
#include "worker/models/model.h"
#include "worker/train/optimizer.h"
#include "worker/train/step_policy.h"

namespace ddp {

// Where training stands, always at a border between steps. The states of random generators are no part of it, on GPUs
// neither: step_seed.h.
struct TrainState {
  int64_t step = 0;      // optimizer steps done
  int64_t epoch = 0;     // being trained
  int64_t position = 0;  // samples of this epoch's order already used
  // Sums over this epoch so far.
  double epoch_loss = 0;
  double epoch_correct = 0;
  double epoch_count = 0;
  // Of the last validation.
  std::optional<double> valid_loss;
  std::optional<double> valid_accuracy;
  BestEpoch best;
  int skipped_in_row = 0;  // steps just before, by the policy skip
  // Steps (as they will be counted when done) whose samples are left out, by the policy rollback; one for each
  // rollback.
  std::vector<int64_t> left_out;
};

struct SnapshotInfo {
  std::string model_name;
  std::map<std::string, std::string> model_options;
  Objective objective = Objective::kMlm;
  ModelShape shape;
  std::string tokenizer;  // JSON of Tokenizer; empty: no text
  std::vector<std::string> class_names;
  std::string data_fingerprint;
  int64_t batch_size = 0;  // global, as it was used
  int64_t optimizer_steps = 0;
  TrainState state;
};

// Host copies of tensors, in memory that the next copy uses again.
struct HostTensors {
  std::vector<std::string> names;
  std::vector<at::Tensor> copies;
};

// Everything that one checkpoint holds, apart from the training that goes on.
struct Snapshot {
  SnapshotInfo info;
  HostTensors weights;
  HostTensors moments;
};

void TakeSnapshot(const SnapshotInfo& info, const Model& model, const Optimizer& optimizer, Snapshot* snapshot);

// Commits checkpoint_dir/step-NNNNNNNN, notes in best.json when that is the best one, and applies retention. Returns
// the folder's name.
absl::StatusOr<std::string> WriteSnapshot(const WorkerConfig& config, const Snapshot& snapshot);

// Of a committed folder.
absl::StatusOr<SnapshotInfo> ReadSnapshotInfo(const std::string& folder);

// The classes that training goes on with from there: the checkpoint's, in their order, if it has a head for them of
// which anything is kept. Empty: those of the data.
absl::StatusOr<std::vector<std::string>> KeptClasses(const SnapshotInfo& from, const TrainingConfig& training);

// Copies the file's tensors into the given ones: the same names, shapes and types on both sides, or an error that says
// which differ.
absl::Status LoadExactly(const std::string& path, const NamedTensors& into);

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_SNAPSHOT_H_
