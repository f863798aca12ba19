#include "server/scheduler/slots.h"

#include <dlfcn.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "common/cores.h"

namespace ddp {

namespace {

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};

// The names of the GPUs, or why there are none. NVML's C interface (nvml.h, "Initialization", "Unit and device
// queries"); 0 is NVML_SUCCESS.
std::vector<std::string> GpuNames(std::string* reason) {
  const std::unique_ptr<void, CloseLibrary> library(dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL));
  if (library == nullptr) {
    *reason = "this machine has no NVIDIA driver (libnvidia-ml.so.1 is not installed)";
    return {};
  }
  const auto init = reinterpret_cast<int (*)()>(dlsym(library.get(), "nvmlInit_v2"));
  const auto shutdown = reinterpret_cast<int (*)()>(dlsym(library.get(), "nvmlShutdown"));
  const auto get_count = reinterpret_cast<int (*)(unsigned*)>(dlsym(library.get(), "nvmlDeviceGetCount_v2"));
  const auto get_handle =
      reinterpret_cast<int (*)(unsigned, void**)>(dlsym(library.get(), "nvmlDeviceGetHandleByIndex_v2"));
  const auto get_name = reinterpret_cast<int (*)(void*, char*, unsigned)>(dlsym(library.get(), "nvmlDeviceGetName"));
  if (!init || !shutdown || !get_count || !get_handle || !get_name) {
    *reason = "the NVIDIA driver's libnvidia-ml.so.1 is too old";
    return {};
  }
  if (const int error = init(); error != 0) {
    *reason = absl::StrCat("the NVIDIA driver does not answer (NVML error ", error, ")");
    return {};
  }
  std::vector<std::string> names;
  unsigned count = 0;
  if (get_count(&count) != 0) count = 0;
  for (unsigned i = 0; i < count; ++i) {
    void* device = nullptr;
    char name[96] = "GPU";
    if (get_handle(i, &device) == 0 && get_name(device, name, sizeof(name)) != 0)
      names.emplace_back("GPU");
    else
      names.emplace_back(name);
  }
  shutdown();
  if (names.empty()) *reason = "the NVIDIA driver sees no GPU";
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
