// NVIDIA's management library (NVML), loaded at run time: nothing of it is needed to build, nor on machines without
// GPUs.
#ifndef DDP_COMMON_NVML_H_
#define DDP_COMMON_NVML_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace ddp {

inline constexpr char kNvmlLibrary[] = "libnvidia-ml.so.1";

// What goes on in a GPU. Unset: it cannot tell, as many cannot.
struct GpuUse {
  std::optional<double>
      utilization_percent;             // of the time in which a kernel ran, over the driver's last period (< 1 s)
  std::optional<double> memory_bytes;  // in use by all processes
  std::optional<double> power_watts;
  std::optional<double> temperature_celsius;
};

// GPUs are numbered by PCI bus, as CUDA does with CUDA_DEVICE_ORDER=PCI_BUS_ID. Thread-safe. A call can take long, and
// never comes back when a driver hangs.
class Nvml {
 public:
  // The error says why there are no GPUs.
  static absl::StatusOr<std::unique_ptr<const Nvml>> Load(const std::string& library = kNvmlLibrary);
  ~Nvml();

  int count() const { return count_; }
  std::string Name(int index) const;  // "GPU" when it has none
  GpuUse Use(int index) const;

 private:
  // nvml.h, "Device Queries". 0 is NVML_SUCCESS.
  struct Functions {
    int (*shutdown)() = nullptr;
    int (*count)(unsigned*) = nullptr;
    int (*handle)(unsigned, void**) = nullptr;
    int (*name)(void*, char*, unsigned) = nullptr;
    // Null in a library without them.
    int (*utilization)(void*, unsigned* /*[2]: gpu, memory*/) = nullptr;
    int (*memory)(void*, unsigned long long* /*[3]: total, free, used*/) = nullptr;
    int (*power)(void*, unsigned* /*milliwatts*/) = nullptr;
    int (*temperature)(void*, int /*sensor*/, unsigned*) = nullptr;
  };
  struct CloseLibrary {
    void operator()(void* library) const;
  };
  using Library = std::unique_ptr<void, CloseLibrary>;

  Nvml(Library library, Functions functions, int count)
      : library_(std::move(library)), functions_(functions), count_(count) {}

  Library library_;
  Functions functions_;
  int count_;
};

}  // namespace ddp

#endif  // DDP_COMMON_NVML_H_
