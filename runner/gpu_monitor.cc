#include "runner/gpu_monitor.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "common/logging.h"

namespace ddp {

namespace {

constexpr std::chrono::seconds kPatience{1};

// Of the times when there was a value.
struct Mean {
  double sum = 0;
  int count = 0;
  void Add(const std::optional<double>& value) {
    if (!value) return;
    sum += *value;
    ++count;
  }
  std::optional<double> Get() const { return count > 0 ? std::optional(sum / count) : std::nullopt; }
};

struct Means {
  Mean utilization, memory, power, temperature;
  void Add(const GpuUse& use) {
    utilization.Add(use.utilization_percent);
    memory.Add(use.memory_bytes);
    power.Add(use.power_watts);
    temperature.Add(use.temperature_celsius);
  }
  GpuUse Get() const { return {utilization.Get(), memory.Get(), power.Get(), temperature.Get()}; }
};

}  // namespace

struct GpuMonitor::Shared {
  std::vector<int> indices;
  absl::Duration every;
  std::string library;
  std::mutex mutex;
  std::condition_variable changed;
  bool closing ABSL_GUARDED_BY(mutex) = false;
  bool ended ABSL_GUARDED_BY(mutex) = false;
  std::vector<Means> means ABSL_GUARDED_BY(mutex);  // empty: nothing measured
};

GpuMonitor::GpuMonitor(std::vector<int> indices, absl::Duration every, std::string library)
    : shared_(std::make_shared<Shared>()) {
  shared_->indices = std::move(indices);
  shared_->every = every;
  shared_->library = std::move(library);
  thread_ = std::thread([shared = shared_] { Run(shared); });
}

GpuMonitor::~GpuMonitor() {
  std::unique_lock lock(shared_->mutex);
  shared_->closing = true;
  shared_->changed.notify_all();
  const bool ended =
      shared_->changed.wait_for(lock, kPatience, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return shared_->ended; });
  lock.unlock();
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

std::vector<GpuUse> GpuMonitor::Take() {
  std::vector<Means> means;
  {
    std::lock_guard lock(shared_->mutex);
    means.swap(shared_->means);
  }
  std::vector<GpuUse> uses;
  for (const Means& mean : means) uses.push_back(mean.Get());
  return uses;
}

void GpuMonitor::Run(const std::shared_ptr<Shared>& shared) {
  const absl::StatusOr<std::unique_ptr<const Nvml>> nvml = Nvml::Load(shared->library);
  if (!nvml.ok()) LogWarning(absl::StrCat("GPUs cannot be measured: ", std::string(nvml.status().message())));
  std::unique_lock lock(shared->mutex);
  while (nvml.ok() && !shared->closing) {
    lock.unlock();
    std::vector<GpuUse> uses;
    for (const int index : shared->indices) uses.push_back((*nvml)->Use(index));
    lock.lock();
    shared->means.resize(uses.size());
    for (size_t i = 0; i < uses.size(); ++i) shared->means[i].Add(uses[i]);
    shared->changed.wait_for(lock, absl::ToChronoMilliseconds(shared->every),
                             [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return shared->closing; });
  }
  shared->ended = true;
  shared->changed.notify_all();
}

}  // namespace ddp
