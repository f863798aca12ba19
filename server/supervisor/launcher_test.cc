#include "server/supervisor/launcher.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "absl/time/clock.h"
#include "attempt/event_log.h"
#include "common/files.h"

namespace ddp {
namespace {

class LauncherTest : public ::testing::Test {
 protected:
  LauncherTest() {
    std::string name = ::testing::TempDir() + "/launcher_test.XXXXXX";
    root_ = mkdtemp(name.data());
    // Holds descriptor 3 while it sleeps, as a runner holds its lock.
    std::ofstream(root_ + "/runner") << "#!/bin/sh\necho started \"$@\"\nexec sleep 1000\n";
    std::filesystem::permissions(root_ + "/runner", std::filesystem::perms::owner_all);
    launch_.set_attempt_dir(root_ + "/attempts/1");
    launch_.set_job_id("0job");
    launch_.set_secret("s");
  }
  ~LauncherTest() override { std::filesystem::remove_all(root_); }

  static bool WaitUntil(const std::function<bool()>& condition) {
    for (const absl::Time end = absl::Now() + absl::Seconds(20); absl::Now() < end;
         absl::SleepFor(absl::Milliseconds(5))) {
      if (condition()) return true;
    }
    return false;
  }

  std::string root_;
  v1::Launch launch_;
};

TEST_F(LauncherTest, AliveWhileTheRunnerHoldsTheLock) {
  ProcessLauncher launcher(root_ + "/runner");
  EXPECT_FALSE(launcher.Alive(launch_.attempt_dir()));
  const auto pid = launcher.Launch(launch_);
  ASSERT_TRUE(pid.ok()) << pid.status();
  EXPECT_TRUE(launcher.Alive(launch_.attempt_dir()));
  // Another daemon that looks at it sees the same: no pid is involved.
  EXPECT_TRUE(ProcessLauncher("").Alive(launch_.attempt_dir()));
  v1::Launch written;
  ASSERT_TRUE(written.ParseFromString(*ReadFile(launch_.attempt_dir() + "/" + kLaunchName)));
  EXPECT_EQ(written.secret(), "s");
  EXPECT_EQ(std::filesystem::status(launch_.attempt_dir() + "/" + kLaunchName).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_FALSE(launcher.Launch(launch_).ok());  // never two runners of one attempt
  EXPECT_TRUE(WaitUntil([&] {
    return *ReadFile(launch_.attempt_dir() + "/runner.log") ==
           "started --attempt-dir " + launch_.attempt_dir() + " --lock-fd 3\n";
  }));
  kill(static_cast<pid_t>(*pid), SIGKILL);
  EXPECT_TRUE(WaitUntil([&] { return !launcher.Alive(launch_.attempt_dir()); }));
  EXPECT_TRUE(WaitUntil([&] {
    launcher.Alive(launch_.attempt_dir());
    return !Exists("/proc/" + std::to_string(*pid));  // reaped
  }));
}

TEST_F(LauncherTest, MissingRunner) {
  ProcessLauncher launcher(root_ + "/none");
  const auto pid = launcher.Launch(launch_);
  ASSERT_FALSE(pid.ok());
  EXPECT_NE(std::string(pid.status().message()).find(root_ + "/none"), std::string::npos);
  EXPECT_FALSE(launcher.Alive(launch_.attempt_dir()));
}

}  // namespace
}  // namespace ddp
