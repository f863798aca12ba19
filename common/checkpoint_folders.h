// The names of a job's checkpoint folders, which ddp-worker makes and ddpd looks for.
#ifndef DDP_COMMON_CHECKPOINT_FOLDERS_H_
#define DDP_COMMON_CHECKPOINT_FOLDERS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ddp {

// The last file of a checkpoint to be written: with it, the checkpoint is committed.
inline constexpr char kManifestName[] = "manifest.json";

// Beside the checkpoints: {"step": N, "metric": "valid_loss", "value": X} of the best one, when there is one.
inline constexpr char kBestName[] = "best.json";

// "step-00001234"
std::string CheckpointName(int64_t step);
// -1: not a name that CheckpointName makes.
int64_t CheckpointStep(const std::string& name);

// Steps of the folders that have a manifest, oldest first. NotFound is no error: none.
std::vector<int64_t> ListCheckpoints(const std::string& checkpoints_dir);

// The step that best.json names, when its checkpoint is there; -1: none.
int64_t BestCheckpoint(const std::string& checkpoints_dir);

}  // namespace ddp

#endif  // DDP_COMMON_CHECKPOINT_FOLDERS_H_
