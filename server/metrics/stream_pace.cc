#include "server/metrics/stream_pace.h"

#include <algorithm>
#include <cstdio>
#include <thread>

#include "common/clock.h"
#include "common/files.h"

namespace ddp {

namespace {

// CPU time of one message, from the round that wakes its stream to the socket (bench/metrics_subscribers prints it).
constexpr absl::Duration kMessageCost = absl::Microseconds(25);
constexpr double kShareOfMachine = 0.01;
constexpr double kShareOfIdle = 0.5;
constexpr double kIdleOfTraining = 0.75;
// What is shorter is not worth a timer, and would keep a point from the first few subscribers.
constexpr absl::Duration kNotWorthWaiting = absl::Milliseconds(8);
// Ticks are 10 ms long: over less time they say little.
constexpr absl::Duration kLookEvery = absl::Milliseconds(250);

CpuTicks ReadCpuTicks() {
  const absl::StatusOr<std::string> stat = ReadFile("/proc/stat", size_t{4} << 20);
  return (stat.ok() ? ParseCpuTicks(*stat) : std::nullopt).value_or(CpuTicks{});
}

}  // namespace

absl::Duration StreamInterval(size_t subscribers, double cores, double idle) {
  const double budget = kShareOfMachine * cores + kShareOfIdle * std::max(0.0, idle - kIdleOfTraining * cores);
  const absl::Duration interval = kMessageCost * (static_cast<double>(subscribers) / budget);
  return interval < kNotWorthWaiting ? absl::ZeroDuration() : interval;
}

absl::Duration RoundBudget::Begin(absl::Duration now, absl::Duration interval) {
  paid_until_ = std::max(paid_until_, now - kSaved) + interval;
  return std::max(paid_until_, now + std::min(interval, kBetweenSaved));
}

std::optional<CpuTicks> ParseCpuTicks(const std::string& stat) {
  // user nice system idle iowait irq softirq steal; what follows is contained in user and nice.
  unsigned long long ticks[8] = {};
  if (std::sscanf(stat.c_str(), "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &ticks[0], &ticks[1], &ticks[2],
                  &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]) != 8) {
    return std::nullopt;
  }
  CpuTicks result;
  for (const unsigned long long part : ticks) result.all += part;
  result.idle = ticks[3] + ticks[4];
  return result;
}

StreamPace::StreamPace()
    : cores_(std::max(1U, std::thread::hardware_concurrency())),
      last_(ReadCpuTicks()),
      looked_at_(Clock::System().Monotonic()) {}

double StreamPace::Idle() {
  std::lock_guard lock(mutex_);
  const absl::Duration now = Clock::System().Monotonic();
  if (now - looked_at_ < kLookEvery) return idle_;
  looked_at_ = now;
  const CpuTicks ticks = ReadCpuTicks();
  if (ticks.all > last_.all && ticks.idle >= last_.idle) {
    idle_ = cores_ * static_cast<double>(ticks.idle - last_.idle) / static_cast<double>(ticks.all - last_.all);
  }
  last_ = ticks;
  return idle_;
}

absl::Duration StreamPace::Interval(size_t subscribers) {
  // Most jobs have few, for whom nothing needs to be known about the machine.
  if (StreamInterval(subscribers, cores_, 0) == absl::ZeroDuration()) return absl::ZeroDuration();
  return StreamInterval(subscribers, cores_, Idle());
}

}  // namespace ddp
