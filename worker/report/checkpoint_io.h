// Answers of `ddp-worker --list, --verify, --export, --import`: serialized messages out of plain structs.
#ifndef DDP_WORKER_REPORT_CHECKPOINT_IO_H_
#define DDP_WORKER_REPORT_CHECKPOINT_IO_H_

#include <string>
#include <utility>
#include <vector>

#include "worker/checkpoint/convert.h"
#include "worker/checkpoint/describe.h"
#include "worker/checkpoint/folder.h"

namespace ddp {

// ListCheckpointsResponse
std::string SerializeDescriptions(const std::vector<CheckpointDescription>& checkpoints);
// VerifyCheckpointsResponse, of (folder, its damages)
std::string SerializeConditions(const std::vector<std::pair<std::string, std::vector<Damage>>>& checked);
// WeightsHeader
std::string SerializeConverted(const Converted& converted);

}  // namespace ddp

#endif  // DDP_WORKER_REPORT_CHECKPOINT_IO_H_
