// Checkpoint folders of one job: checkpoints/step-00001234/.
//
// A checkpoint is written into a temporary folder, each file synced, the manifest last, and the folder is then renamed:
// after a crash at any point a checkpoint is there completely or not at all. It exists when its manifest.json verifies:
// every file has the size and the XXH3-128 that the manifest says, and so has the manifest itself.
#ifndef DDP_WORKER_CHECKPOINT_FOLDER_H_
#define DDP_WORKER_CHECKPOINT_FOLDER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/checkpoint_folders.h"
#include "worker/formats/byte_sink.h"

namespace ddp {

// 2: the manifest holds its own checksum. 1 is still read.
inline constexpr int kCheckpointFormat = 2;

// A file in the making. Every Append may fail (a full disk).
using CheckpointFile = ByteSink;

// Where a checkpoint's bytes go; the fault-injecting twin in the tests fails on purpose.
class CheckpointDisk {
 public:
  virtual ~CheckpointDisk() = default;
  virtual absl::Status Write(int fd, std::string_view bytes) = 0;
  virtual absl::Status Sync(int fd) = 0;
  // In one step; a folder `to` that exists is replaced.
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  static CheckpointDisk& Real();
};

struct FileToWrite {
  std::string name;
  std::function<absl::Status(CheckpointFile&)> write;
};

// Commits checkpoints_dir/step-N with the files and a manifest. A folder of that step that exists already is replaced
// (a resumed attempt may reach the same step again). On an error the older checkpoints are untouched, and what was
// written is removed. Returns the folder's name.
absl::StatusOr<std::string> CommitCheckpoint(const std::string& checkpoints_dir, int64_t step, int attempt,
                                             const std::vector<FileToWrite>& files,
                                             CheckpointDisk& disk = CheckpointDisk::Real());

// What is wrong with one file of a checkpoint.
struct Damage {
  std::string path;
  std::string expected;  // "4096 bytes", "checksum 0123..."
  std::string found;     // in the same words, or what went wrong
  std::string ToString() const { return path + ": " + found + " instead of " + expected; }
};

// Every damaged file; none: the checkpoint is whole.
std::vector<Damage> FindDamage(const std::string& folder);

// OK when the manifest is there and every file has its size and hash; DataLoss names the file otherwise.
absl::Status VerifyCheckpoint(const std::string& folder);

// The folder (with its path) of the newest checkpoint that verifies; "" when none does. What newer ones suffer from
// goes to `rejected`.
std::string NewestVerified(const std::string& checkpoints_dir, std::vector<std::string>* rejected);

// Removes all but the newest `keep` checkpoints up to step `newest` and that of step `best` (-1: none), and temporary
// folders that a crash left. Never `newest` itself, nor one of a later step: that is one which did not verify when
// training went back to an older one. Only folders with names that we make.
absl::Status ApplyRetention(const std::string& checkpoints_dir, int keep, int64_t newest, int64_t best = -1);

}  // namespace ddp

#endif  // DDP_WORKER_CHECKPOINT_FOLDER_H_
