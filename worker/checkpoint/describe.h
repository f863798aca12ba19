// The checkpoints of a job, as a list for people.
#ifndef DDP_WORKER_CHECKPOINT_DESCRIBE_H_
#define DDP_WORKER_CHECKPOINT_DESCRIBE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ddp {

struct CheckpointDescription {
  int64_t step = 0;
  std::string folder;  // with its path
  int64_t bytes = 0;   // of all files
  int64_t time = 0;    // when it was committed, seconds since 1970
  int64_t attempt = 0;
  bool best = false;
  std::optional<int64_t> epoch;
  std::optional<double> valid_loss;
  std::optional<double> valid_accuracy;
};

// Oldest first. What cannot be read is left out; FindDamage tells why.
std::vector<CheckpointDescription> DescribeCheckpoints(const std::string& checkpoints_dir);

}  // namespace ddp

#endif  // DDP_WORKER_CHECKPOINT_DESCRIBE_H_
