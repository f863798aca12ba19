// A driver's libnvidia-ml.so.1 for tests, with two GPUs. NVML_FAKE=hang: measuring never comes back; none: no GPU.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;

bool Plays(const char* what) {
  const char* fake = std::getenv("NVML_FAKE");
  return fake != nullptr && std::strcmp(fake, what) == 0;
}

// Handles are numbers, from 1.
unsigned IndexOf(void* device) { return static_cast<unsigned>(reinterpret_cast<uintptr_t>(device)) - 1; }

}  // namespace

extern "C" {

int nvmlInit_v2() { return kSuccess; }
int nvmlShutdown() { return kSuccess; }

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = Plays("none") ? 0 : 2;
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= 2) return kInvalidArgument;
  *device = reinterpret_cast<void*>(uintptr_t{index} + 1);
  return kSuccess;
}

int nvmlDeviceGetName(void* device, char* name, unsigned size) {
  std::strncpy(name, IndexOf(device) == 0 ? "Fake A" : "Fake B", size);
  return kSuccess;
}

struct nvmlUtilization_t {
  unsigned gpu;
  unsigned memory;
};
int nvmlDeviceGetUtilizationRates(void* device, nvmlUtilization_t* rates) {
  while (Plays("hang")) pause();
  *rates = {.gpu = 90 + IndexOf(device), .memory = 7};
  return kSuccess;
}

struct nvmlMemory_t {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
int nvmlDeviceGetMemoryInfo(void* device, nvmlMemory_t* memory) {
  const unsigned long long used = (1ULL << 35) + IndexOf(device);  // more than 32 bits
  *memory = {.total = 1ULL << 37, .free = (1ULL << 37) - used, .used = used};
  return kSuccess;
}

// GPU 1 cannot tell its power.
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  if (IndexOf(device) == 1) return kNotSupported;
  *milliwatts = 312500;
  return kSuccess;
}

int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* celsius) {
  if (sensor != 0) return kInvalidArgument;
  *celsius = 60 + IndexOf(device);
  return kSuccess;
}

}  // extern "C"
