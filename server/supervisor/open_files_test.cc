#include "server/supervisor/open_files.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "server/supervisor/launcher.h"

namespace ddp {
namespace {

rlimit LimitOf(pid_t pid) {
  rlimit limit{};
  EXPECT_EQ(prlimit(pid, RLIMIT_NOFILE, nullptr, &limit), 0);
  return limit;
}

TEST(OpenFiles, RaisedForUsAndGivenBackToRunners) {
  const rlimit ours = LimitOf(getpid());
  ASSERT_GE(ours.rlim_max, 300u);
  const rlimit small{.rlim_cur = 300, .rlim_max = ours.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &small), 0);
  const auto raised = RaiseOpenFileLimit();
  ASSERT_TRUE(raised.ok()) << raised.status();
  EXPECT_EQ(raised->before.rlim_cur, 300u);
  EXPECT_EQ(raised->now, ours.rlim_max);
  EXPECT_EQ(LimitOf(getpid()).rlim_cur, ours.rlim_max);

  std::string root = ::testing::TempDir() + "/open_files_test.XXXXXX";
  root = mkdtemp(root.data());
  std::ofstream(root + "/runner") << "#!/bin/sh\nexec sleep 1000\n";
  std::filesystem::permissions(root + "/runner", std::filesystem::perms::owner_all);
  v1::Launch launch;
  launch.set_attempt_dir(root + "/attempts/1");
  ProcessLauncher launcher(root + "/runner", raised->before);
  const auto pid = launcher.Launch(launch);
  ASSERT_TRUE(pid.ok()) << pid.status();
  EXPECT_EQ(LimitOf(static_cast<pid_t>(*pid)).rlim_cur, 300u);
  EXPECT_EQ(LimitOf(static_cast<pid_t>(*pid)).rlim_max, ours.rlim_max);
  kill(static_cast<pid_t>(*pid), SIGKILL);
  while (launcher.Alive(launch.attempt_dir())) usleep(1000);
  std::filesystem::remove_all(root);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &ours), 0);
}

TEST(OpenFiles, AProcessThatIsGone) {
  const absl::Status status = SetOpenFileLimit(1 << 30, LimitOf(getpid()));
  EXPECT_FALSE(status.ok());
  EXPECT_NE(std::string(status.message()).find("1073741824"), std::string::npos);
}

}  // namespace
}  // namespace ddp
