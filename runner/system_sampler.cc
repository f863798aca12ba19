#include "runner/system_sampler.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

namespace ddp {

namespace {

constexpr absl::Duration kFirst = absl::Seconds(1);
constexpr absl::Duration kEvery = absl::Seconds(5);

}  // namespace

void SystemSampler::Begin(const std::vector<pid_t>& ranks) {
  ranks_.clear();
  for (const pid_t pid : ranks) {
    const std::optional<ProcessUse> use = probe_.Process(pid);
    ranks_.push_back({.pid = pid, .cpu = use ? use->cpu : absl::ZeroDuration()});
  }
  probe_.Gpus();  // what was before is not wanted
  measured_at_ = clock_.Monotonic();
  due_ = measured_at_ + kFirst;
}

void SystemSampler::Ended(size_t rank) {
  if (rank < ranks_.size()) ranks_[rank].pid = 0;
}

v1::MetricBatch SystemSampler::Sample(int64_t step) {
  v1::MetricBatch batch;
  const double time = absl::ToDoubleSeconds(clock_.Now() - absl::UnixEpoch());
  const auto add = [&](std::string series, const std::optional<double>& value) {
    if (!value) return;
    v1::MetricColumn& column = *batch.add_columns();
    column.set_series(std::move(series));
    column.add_step(step);
    column.add_time(time);
    column.add_value(*value);
  };
  const absl::Duration now = clock_.Monotonic();
  for (size_t k = 0; k < ranks_.size(); ++k) {
    if (ranks_[k].pid == 0) continue;
    const std::optional<ProcessUse> use = probe_.Process(ranks_[k].pid);
    if (!use) continue;
    add(absl::StrCat("rank/", k, "/cpu_percent"),
        100 * absl::FDivDuration(use->cpu - ranks_[k].cpu, now - measured_at_));
    add(absl::StrCat("rank/", k, "/rss_bytes"), static_cast<double>(use->rss_bytes));
    ranks_[k].cpu = use->cpu;
  }
  const std::vector<GpuUse> gpus = probe_.Gpus();
  for (size_t k = 0; k < gpus.size(); ++k) {
    const std::string prefix = absl::StrCat("gpu/", k, "/");
    add(prefix + "utilization_percent", gpus[k].utilization_percent);
    add(prefix + "memory_bytes", gpus[k].memory_bytes);
    add(prefix + "power_watts", gpus[k].power_watts);
    add(prefix + "temperature_celsius", gpus[k].temperature_celsius);
  }
  measured_at_ = now;
  due_ = now + kEvery;
  return batch;
}

}  // namespace ddp
