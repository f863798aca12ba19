#include "common/nvml.h"

#include <dlfcn.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace ddp {

namespace {

constexpr int kGpuSensor = 0;  // NVML_TEMPERATURE_GPU

template <typename Function>
void Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

void Nvml::CloseLibrary::operator()(void* library) const { dlclose(library); }

absl::StatusOr<std::unique_ptr<const Nvml>> Nvml::Load(const std::string& name) {
  Library library(dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL));
  if (library == nullptr) {
    return absl::NotFoundError(absl::StrCat("this machine has no NVIDIA driver (", kNvmlLibrary, " is not installed)"));
  }
  int (*init)() = nullptr;
  Functions f;
  Find(library.get(), "nvmlInit_v2", &init);
  Find(library.get(), "nvmlShutdown", &f.shutdown);
  Find(library.get(), "nvmlDeviceGetCount_v2", &f.count);
  Find(library.get(), "nvmlDeviceGetHandleByIndex_v2", &f.handle);
  Find(library.get(), "nvmlDeviceGetName", &f.name);
  Find(library.get(), "nvmlDeviceGetUtilizationRates", &f.utilization);
  Find(library.get(), "nvmlDeviceGetMemoryInfo", &f.memory);
  Find(library.get(), "nvmlDeviceGetPowerUsage", &f.power);
  Find(library.get(), "nvmlDeviceGetTemperature", &f.temperature);
  if (!init || !f.shutdown || !f.count || !f.handle || !f.name) {
    return absl::FailedPreconditionError(absl::StrCat("the NVIDIA driver's ", kNvmlLibrary, " is too old"));
  }
  if (const int error = init(); error != 0) {
    return absl::UnavailableError(absl::StrCat("the NVIDIA driver does not answer (NVML error ", error, ")"));
  }
  unsigned count = 0;
  if (f.count(&count) != 0) count = 0;
  // Shuts down from here on.
  std::unique_ptr<const Nvml> nvml(new Nvml(std::move(library), f, static_cast<int>(count)));
  if (count == 0) return absl::NotFoundError("the NVIDIA driver sees no GPU");
  return nvml;
}

Nvml::~Nvml() { functions_.shutdown(); }

std::string Nvml::Name(int index) const {
  void* device = nullptr;
  char name[96] = "GPU";
  if (functions_.handle(static_cast<unsigned>(index), &device) != 0 ||
      functions_.name(device, name, sizeof(name)) != 0) {
    return "GPU";
  }
  return name;
}

GpuUse Nvml::Use(int index) const {
  GpuUse use;
  void* device = nullptr;
  if (functions_.handle(static_cast<unsigned>(index), &device) != 0) return use;
  unsigned rates[2] = {};
  unsigned long long memory[3] = {};
  unsigned value = 0;
  if (functions_.utilization && functions_.utilization(device, rates) == 0) use.utilization_percent = rates[0];
  if (functions_.memory && functions_.memory(device, memory) == 0) use.memory_bytes = static_cast<double>(memory[2]);
  if (functions_.power && functions_.power(device, &value) == 0) use.power_watts = value / 1e3;
  if (functions_.temperature && functions_.temperature(device, kGpuSensor, &value) == 0) {
    use.temperature_celsius = value;
  }
  return use;
}

}  // namespace ddp
