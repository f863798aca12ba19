#include "runner/system_sampler.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace ddp {
namespace {

class FakeClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::UnixEpoch() + absl::Seconds(1e9) + elapsed; }
  absl::Duration Monotonic() const override { return absl::Seconds(77) + elapsed; }
  absl::Duration elapsed;
};

class FakeProbe final : public SystemProbe {
 public:
  std::optional<ProcessUse> Process(pid_t pid) override {
    asked.insert(pid);
    const auto found = processes.find(pid);
    return found == processes.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<GpuUse> Gpus() override { return std::exchange(gpus, {}); }

  std::map<pid_t, ProcessUse> processes;
  std::vector<GpuUse> gpus;
  std::set<pid_t> asked;
};

// series -> value, after a look at what all points have in common.
std::map<std::string, double> Values(const v1::MetricBatch& batch, int64_t step, double time) {
  std::map<std::string, double> values;
  for (const v1::MetricColumn& column : batch.columns()) {
    EXPECT_EQ(column.step_size(), 1);
    EXPECT_EQ(column.step(0), step);
    EXPECT_EQ(column.time(0), time);
    EXPECT_TRUE(values.emplace(column.series(), column.value(0)).second) << column.series();
  }
  return values;
}

class SystemSamplerTest : public ::testing::Test {
 protected:
  FakeClock clock_;
  FakeProbe probe_;
  SystemSampler sampler_{probe_, clock_};
};

TEST_F(SystemSamplerTest, NothingIsDueBeforeTrainingBegins) {
  EXPECT_EQ(sampler_.due(), absl::InfiniteDuration());
  sampler_.Begin({10});
  EXPECT_EQ(sampler_.due(), absl::Seconds(78));
  clock_.elapsed = absl::Seconds(1);
  sampler_.Sample(1);
  EXPECT_EQ(sampler_.due(), absl::Seconds(83));
}

TEST_F(SystemSamplerTest, CpuTimeSinceThePointBefore) {
  probe_.processes[10] = {.cpu = absl::Seconds(3), .rss_bytes = 100};
  probe_.processes[11] = {.cpu = absl::Seconds(5), .rss_bytes = 200};
  sampler_.Begin({10, 11});
  // Half a second of CPU time in a second: 50 %. One and a half, on two threads: 150 %.
  clock_.elapsed = absl::Seconds(1);
  probe_.processes[10] = {.cpu = absl::Seconds(3.5), .rss_bytes = 300};
  probe_.processes[11] = {.cpu = absl::Seconds(6.5), .rss_bytes = 400};
  const std::map<std::string, double> first{
      {"rank/0/cpu_percent", 50}, {"rank/0/rss_bytes", 300}, {"rank/1/cpu_percent", 150}, {"rank/1/rss_bytes", 400}};
  EXPECT_EQ(Values(sampler_.Sample(7), 7, 1e9 + 1), first);
  // The runner was late: 4 s of CPU time in 8 s.
  clock_.elapsed = absl::Seconds(9);
  probe_.processes[10].cpu = absl::Seconds(7.5);
  const auto second = Values(sampler_.Sample(9), 9, 1e9 + 9);
  EXPECT_EQ(second.at("rank/0/cpu_percent"), 50);
  EXPECT_EQ(second.at("rank/1/cpu_percent"), 0);
}

TEST_F(SystemSamplerTest, AProcessThatHasEndedHasNoPoint) {
  probe_.processes[10] = {.rss_bytes = 1};
  probe_.processes[11] = {.rss_bytes = 2};
  probe_.processes[12] = {.rss_bytes = 3};
  sampler_.Begin({10, 11, 12});
  clock_.elapsed = absl::Seconds(1);
  probe_.processes.erase(10);
  sampler_.Ended(1);
  probe_.asked.clear();
  const std::map<std::string, double> left{{"rank/2/cpu_percent", 0}, {"rank/2/rss_bytes", 3}};
  EXPECT_EQ(Values(sampler_.Sample(1), 1, 1e9 + 1), left);
  // 11 may be another process by now.
  EXPECT_EQ(probe_.asked, (std::set<pid_t>{10, 12}));
}

TEST_F(SystemSamplerTest, GpusTellWhatTheyCan) {
  probe_.gpus = {{.utilization_percent = 1}};  // while data was read
  sampler_.Begin({});
  clock_.elapsed = absl::Seconds(1);
  EXPECT_EQ(sampler_.Sample(2).columns_size(), 0);
  probe_.gpus = {{97, 8e9, 312.5, 64}, {.utilization_percent = 95, .memory_bytes = 9e9}};
  clock_.elapsed = absl::Seconds(6);
  const std::map<std::string, double> values{{"gpu/0/utilization_percent", 97}, {"gpu/0/memory_bytes", 8e9},
                                             {"gpu/0/power_watts", 312.5},      {"gpu/0/temperature_celsius", 64},
                                             {"gpu/1/utilization_percent", 95}, {"gpu/1/memory_bytes", 9e9}};
  EXPECT_EQ(Values(sampler_.Sample(2), 2, 1e9 + 6), values);
}

}  // namespace
}  // namespace ddp
