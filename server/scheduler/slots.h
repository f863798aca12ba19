// What this machine can run on.
#ifndef DDP_SERVER_SCHEDULER_SLOTS_H_
#define DDP_SERVER_SCHEDULER_SLOTS_H_

#include <string>
#include <vector>

#include "ddp/v1/system.pb.h"

namespace ddp {

struct SlotInventory {
  std::vector<v1::Slot> slots;  // index i at position i
  bool has_gpus = false;
  std::string no_gpu_reason;  // when it has none, in words
  int cores = 1;              // that this process may use
};

// One slot per GPU (NVML, loaded at run time), or, without GPUs, one per core that this process may use; cpu_slots > 0
// sets the number of CPU slots instead, and no GPU is looked for.
SlotInventory DetectSlots(int cpu_slots);

}  // namespace ddp

#endif  // DDP_SERVER_SCHEDULER_SLOTS_H_
