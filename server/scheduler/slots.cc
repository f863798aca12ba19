#include "server/scheduler/slots.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "common/cores.h"
#include "common/nvml.h"

namespace ddp {

namespace {

// The names of the GPUs, or why there are none.
std::vector<std::string> GpuNames(std::string* reason) {
  const absl::StatusOr<std::unique_ptr<const Nvml>> nvml = Nvml::Load();
  std::vector<std::string> names;
  if (!nvml.ok()) {
    *reason = std::string(nvml.status().message());
    return names;
  }
  for (int i = 0; i < (*nvml)->count(); ++i) names.push_back((*nvml)->Name(i));
  return names;
}

}  // namespace

SlotInventory DetectSlots(int cpu_slots) {
  SlotInventory inventory;
  inventory.cores = UsableCores();
  std::vector<std::string> names;
  if (cpu_slots > 0) {
    inventory.no_gpu_reason = "ddpd was started with --cpu-slots";
  } else {
    names = GpuNames(&inventory.no_gpu_reason);
  }
  inventory.has_gpus = !names.empty();
  const int count = inventory.has_gpus ? static_cast<int>(names.size()) : cpu_slots > 0 ? cpu_slots : inventory.cores;
  for (int i = 0; i < count; ++i) {
    v1::Slot& slot = inventory.slots.emplace_back();
    slot.set_index(i);
    slot.set_device(inventory.has_gpus ? v1::DEVICE_CUDA : v1::DEVICE_CPU);
    slot.set_name(inventory.has_gpus ? names[static_cast<size_t>(i)] : absl::StrCat("cpu ", i));
  }
  return inventory;
}

}  // namespace ddp
