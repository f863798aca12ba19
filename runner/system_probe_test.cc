#include "runner/system_probe.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runner/gpu_monitor.h"

namespace ddp {
namespace {

class ProcTest : public ::testing::Test {
 protected:
  ProcTest() {
    std::string name = ::testing::TempDir() + "/proc.XXXXXX";
    proc_ = mkdtemp(name.data());
    std::filesystem::create_directory(proc_ + "/42");
  }
  ~ProcTest() override { std::filesystem::remove_all(proc_); }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(absl::StrCat(proc_, "/42/", name)) << text;
  }
  std::string proc_;
};

// As the kernel writes them; the name is a process's own choice.
TEST_F(ProcTest, Fields) {
  Write("stat", "42 (ddp) R 1 (x) S 1 42 42 0 -1 4194304 2205 0 0 0 731 269 5 6 20 0 8 0 100 1000000 512 18446744\n");
  Write("statm", "2048 512 300 10 0 900 0\n");
  const auto use = MachineProbe({}, proc_).Process(42);
  ASSERT_TRUE(use.has_value());
  EXPECT_EQ(use->cpu, absl::Seconds(731 + 269) / sysconf(_SC_CLK_TCK));
  EXPECT_EQ(use->rss_bytes, 512 * sysconf(_SC_PAGESIZE));
}

TEST_F(ProcTest, AZombieHasEnded) {
  Write("stat", "42 (ddp-worker) Z 1 42 42 0 -1 4194304 2205 0 0 0 731 269 5 6 20 0 1 0 100 0 0 0\n");
  Write("statm", "0 0 0 0 0 0 0\n");
  EXPECT_EQ(MachineProbe({}, proc_).Process(42), std::nullopt);
}

TEST_F(ProcTest, NoProcess) { EXPECT_EQ(MachineProbe({}, proc_).Process(43), std::nullopt); }

TEST_F(ProcTest, ATornFile) {
  Write("stat", "42 (ddp-worker) R 1 42");
  Write("statm", "2048 512 300 10 0 900 0\n");
  EXPECT_EQ(MachineProbe({}, proc_).Process(42), std::nullopt);
}

TEST(MachineProbeTest, ThisProcess) {
  MachineProbe probe({});
  const auto before = probe.Process(getpid());
  ASSERT_TRUE(before.has_value());
  // 64 MiB more, each page touched.
  constexpr size_t kBytes = size_t{64} << 20;
  std::vector<char> memory(kBytes, 1);
  timespec spent{};
  do {
    for (char& c : memory) c = static_cast<char>(c + 1);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  } while (absl::DurationFromTimespec(spent) < before->cpu + absl::Milliseconds(100));
  const auto after = probe.Process(getpid());
  ASSERT_TRUE(after.has_value());
  EXPECT_GE(after->rss_bytes - before->rss_bytes, static_cast<int64_t>(kBytes) * 9 / 10);
  EXPECT_GE(after->cpu, before->cpu + absl::Milliseconds(80));  // counted in ticks of 10 ms
  EXPECT_TRUE(probe.Gpus().empty());
}

std::vector<GpuUse> WaitForUses(GpuMonitor& monitor) {
  std::vector<GpuUse> uses;
  for (const absl::Time end = absl::Now() + absl::Seconds(30); uses.empty() && absl::Now() < end;
       absl::SleepFor(absl::Milliseconds(1))) {
    uses = monitor.Take();
  }
  return uses;
}

// The numbers of common/testing/fake_nvml.cc.
TEST(GpuMonitorTest, MeansInTheOrderOfTheRanks) {
  GpuMonitor monitor({1, 0}, absl::Milliseconds(1), DDP_FAKE_NVML);
  for (int i = 0; i < 3; ++i) {
    const std::vector<GpuUse> uses = WaitForUses(monitor);
    ASSERT_EQ(uses.size(), 2u);
    EXPECT_EQ(uses[0].utilization_percent, 91);
    EXPECT_EQ(uses[0].power_watts, std::nullopt);
    EXPECT_EQ(uses[1].utilization_percent, 90);
    EXPECT_EQ(uses[1].memory_bytes, 34359738368.0);
    EXPECT_EQ(uses[1].power_watts, 312.5);
    EXPECT_EQ(uses[1].temperature_celsius, 60);
  }
}

TEST(GpuMonitorTest, WithoutADriverThereIsNothing) {
  GpuMonitor monitor({0}, absl::Milliseconds(1), "libnvidia-ml-that-nobody-has.so");
  EXPECT_TRUE(monitor.Take().empty());
}

}  // namespace
}  // namespace ddp
