#include "common/logging.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

namespace ddp {
namespace {

TEST(Logging, OneEscapedLinePerMessageWithUtcTimeAndLevel) {
  InitLogging(LogLevel::kInfo);
  testing::internal::CaptureStderr();
  LogWarning("name \x1b[2J\nforged");
  Log(LogLevel::kDebug, "not shown");
  LogError("e {} %s");
  const std::string text = testing::internal::GetCapturedStderr();
  const std::string time = "20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]\\.[0-9][0-9][0-9]Z";
  EXPECT_THAT(text, testing::MatchesRegex(time + " W name \\\\x1B\\[2J\\\\nforged\n" + time + " E e \\{\\} %s\n"));
}

TEST(Logging, AClosedPipeDoesNotStopTheProgram) {
  InitLogging(LogLevel::kInfo);
  const int saved = dup(STDERR_FILENO);
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  dup2(fds[1], STDERR_FILENO);
  close(fds[1]);
  close(fds[0]);
  LogInfo("nobody reads this");
  dup2(saved, STDERR_FILENO);
  close(saved);
  SUCCEED();
}

TEST(Logging, MissingStandardDescriptorsAreFilled) {
  const int saved = dup(STDIN_FILENO);
  close(STDIN_FILENO);
  InitLogging(LogLevel::kInfo);
  EXPECT_GE(fcntl(STDIN_FILENO, F_GETFD), 0);
  dup2(saved, STDIN_FILENO);
  close(saved);
}

}  // namespace
}  // namespace ddp
