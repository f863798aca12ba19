#include "common/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

namespace ddp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

SpawnOptions Shell(const std::string& script) {
  SpawnOptions options;
  options.argv = {"/bin/sh", "-c", script};
  options.environment = {"PATH=/usr/bin:/bin"};
  return options;
}

std::string Output(SpawnOptions options, const std::string& input = "") {
  const auto result = ddp::Run(std::move(options), input, absl::Seconds(20));
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->stdout_text : "";
}

TEST(Run, CollectsBothStreamsAndTheExitCode) {
  const auto result = ddp::Run(Shell("cat; echo bad >&2; exit 3"), "in\n", absl::Seconds(20));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->stdout_text, "in\n");
  EXPECT_EQ(result->stderr_text, "bad\n");
  EXPECT_EQ(result->status.exit_code, 3);
  EXPECT_FALSE(result->status.ok());
}

TEST(Run, MovesMoreThanAPipeHoldsBothWays) {
  const std::string big(4'000'000, 'x');
  EXPECT_EQ(Output(Shell("cat"), big), big);
}

TEST(Run, AChildThatDoesNotReadIsNoError) { EXPECT_EQ(Output(Shell("echo hi"), std::string(4'000'000, 'x')), "hi\n"); }

TEST(Run, KillsTheWholeGroupAtTheDeadline) {
  const auto start = absl::Now();
  const auto result =
      ddp::Run(Shell("trap '' TERM; sleep 100 & echo $! ; wait; sleep 100"), "", absl::Milliseconds(200));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("/bin/sh did not end within 200ms"));
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
}

TEST(Run, DoesNotWaitForWhatTheChildLeftBehind) {
  const auto start = absl::Now();
  const auto result = ddp::Run(Shell("sleep 3 & echo done"), "", absl::Seconds(20));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->stdout_text, "done\n");
  EXPECT_LT(absl::Now() - start, absl::Seconds(2));
}

TEST(Run, TooMuchOutputIsAnError) {
  const auto result = ddp::Run(Shell("head -c 1000 /dev/zero; sleep 100"), "", absl::Seconds(20), 999);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(ddp::Run(Shell("head -c 1000 /dev/zero"), "", absl::Seconds(20), 1000).ok());
}

TEST(Run, KeepsOnlyTheFirst64KiBOfStandardError) {
  const auto result = ddp::Run(Shell("head -c 100000 /dev/zero >&2"), "", absl::Seconds(20));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->stderr_text.size(), 65536);
}

TEST(Spawn, AMissingProgramIsAnErrorThatNamesIt) {
  SpawnOptions options;
  options.argv = {"/no/such/program"};
  const absl::Status status = Spawn(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "cannot start /no/such/program: No such file or directory");
  EXPECT_EQ(Spawn(SpawnOptions{}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Spawn, OnlyNamedDescriptorsReachTheChild) {
  const int leaky = open("/dev/zero", O_RDONLY);  // on purpose without close-on-exec
  const int passed = open("/dev/full", O_RDONLY | O_CLOEXEC);
  SpawnOptions options = Shell("ls -l /proc/self/fd | sed -n 's/.* \\([0-9]* -> .*\\)/\\1/p'");
  options.fds = {{passed, 7}};
  EXPECT_THAT(Output(options), testing::ContainsRegex("7 -> /dev/full"));
  EXPECT_THAT(Output(options), testing::Not(HasSubstr("/dev/zero")));
  EXPECT_EQ(Output(Shell("ls /proc/self/fd")), "0\n1\n2\n3\n");  // 3 is the folder that ls reads
  close(leaky);
  close(passed);
}

TEST(Spawn, UnnamedStandardDescriptorsAreDevNull) {
  SpawnOptions options;
  options.argv = {"/bin/sleep", "100"};
  const auto child = Spawn(options);
  ASSERT_TRUE(child.ok());
  for (int fd = 0; fd <= 2; ++fd) {
    char target[64] = {};
    EXPECT_GT(readlink(absl::StrCat("/proc/", child->pid, "/fd/", fd).c_str(), target, sizeof(target) - 1), 0);
    EXPECT_STREQ(target, "/dev/null");
  }
  kill(child->pid, SIGKILL);
  Reap(child->pid, true);
}

// Each source is another's target, and one source is its own target: naive dup2 calls in order would lose two of them
// and leave close-on-exec on the third.
TEST(Spawn, DescriptorsMayCrossAndStay) {
  const int zero = fcntl(open("/dev/zero", O_RDONLY | O_CLOEXEC), F_DUPFD_CLOEXEC, 40);
  const int full = fcntl(open("/dev/full", O_RDONLY | O_CLOEXEC), F_DUPFD_CLOEXEC, zero + 1);
  const int random = fcntl(open("/dev/urandom", O_RDONLY | O_CLOEXEC), F_DUPFD_CLOEXEC, full + 1);
  SpawnOptions options =
      Shell(absl::StrCat("readlink /proc/$$/fd/", zero, " /proc/$$/fd/", full, " /proc/$$/fd/", random));
  options.fds = {{zero, full}, {full, zero}, {random, random}};
  EXPECT_EQ(Output(options), "/dev/full\n/dev/zero\n/dev/urandom\n");
}

TEST(Spawn, TheEnvironmentIsExactlyWhatIsGiven) {
  setenv("DDP_TEST_SECRET", "hunter2", 1);
  SpawnOptions options;
  options.argv = {"/usr/bin/env"};
  options.environment = {"A=1", "B=two words"};
  EXPECT_EQ(Output(options), "A=1\nB=two words\n");
}

TEST(Spawn, SignalsStartBlockedByNobodyAndIgnoredByNobody) {
  sigset_t block;
  sigset_t before;
  sigemptyset(&block);
  sigaddset(&block, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &block, &before);
  signal(SIGPIPE, SIG_IGN);
  SpawnOptions options;
  options.argv = {"/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"};
  // glibc itself leaves its two internal signals, 32 and 33, ignored.
  EXPECT_EQ(Output(options), "SigBlk:\t0000000000000000\nSigIgn:\t0000000180000000\n");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Fields 1, 5 and 6 of /proc/PID/stat: pid, group, session.
std::vector<int> PidGroupSession(SpawnOptions options) {
  options.argv = {"/bin/cat", "/proc/self/stat"};
  const std::vector<std::string> fields = absl::StrSplit(Output(std::move(options)), ' ');
  std::vector<int> ids;
  for (size_t i : {0, 4, 5}) {
    int id = 0;
    EXPECT_TRUE(absl::SimpleAtoi(fields.at(i), &id));
    ids.push_back(id);
  }
  return ids;
}

TEST(Spawn, NewSessionAndNewGroup) {
  SpawnOptions session;
  session.new_session = true;
  const std::vector<int> with_session = PidGroupSession(session);
  EXPECT_THAT(with_session, ElementsAre(with_session[0], with_session[0], with_session[0]));
  SpawnOptions group;
  group.new_process_group = true;
  const std::vector<int> with_group = PidGroupSession(group);
  EXPECT_THAT(with_group, ElementsAre(with_group[0], with_group[0], getsid(0)));
}

TEST(Spawn, WorkingFolderWithSpacesAndUmlauts) {
  const std::string folder = absl::StrCat("/tmp/ddp größe ", getpid());
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  SpawnOptions options;
  options.argv = {"/bin/pwd"};
  options.working_directory = folder;
  EXPECT_EQ(Output(options), folder + "\n");
  rmdir(folder.c_str());
  EXPECT_THAT(std::string(Spawn(options).status().message()), HasSubstr("in folder " + folder));
}

TEST(Spawn, PidfdTellsTheEndAndIsCloseOnExec) {
  const auto child = Spawn(Shell("sleep 100"));
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(fcntl(child->pidfd.get(), F_GETFD), FD_CLOEXEC);
  pollfd wait{child->pidfd.get(), POLLIN, 0};
  EXPECT_EQ(poll(&wait, 1, 0), 0);
  EXPECT_FALSE(Reap(child->pid, false).has_value());
  kill(child->pid, SIGKILL);
  EXPECT_EQ(poll(&wait, 1, 10000), 1);
  const auto status = Reap(child->pid, false);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->signal, SIGKILL);
  EXPECT_EQ(status->ToString(), "signal 9 (SIGKILL)");
}

TEST(ExitStatus, Text) {
  EXPECT_EQ((ExitStatus{.exit_code = 3}.ToString()), "exit code 3");
  EXPECT_EQ((ExitStatus{.exit_code = -1, .signal = 40}.ToString()), "signal 40");
  EXPECT_EQ(Reap(1, false)->ToString(), "unknown");  // not a child of ours
}

TEST(AllowedEnvironment, IsAnAllowList) {
  clearenv();
  for (const char* name : {"PATH", "LC_ALL", "NCCL_DEBUG", "CUDA_VISIBLE_DEVICES", "TSAN_OPTIONS", "DDPD_TOKEN",
                           "LD_PRELOAD", "AWS_SECRET_ACCESS_KEY", "PATHX", "NCCL", "DDPD_HOME", "LD_LIBRARY_PATH"}) {
    setenv(name, "v=1", 1);
  }
  EXPECT_THAT(AllowedEnvironment(), UnorderedElementsAre("PATH=v=1", "LC_ALL=v=1", "NCCL_DEBUG=v=1",
                                                         "CUDA_VISIBLE_DEVICES=v=1", "TSAN_OPTIONS=v=1"));
  clearenv();
  EXPECT_TRUE(AllowedEnvironment().empty());
}

}  // namespace
}  // namespace ddp
