#include "runner/log_tail.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "common/files.h"

namespace ddp {
namespace {

class LogTailTest : public ::testing::Test {
 protected:
  LogTailTest() {
    std::string name = ::testing::TempDir() + "/log_tail_test.XXXXXX";
    dir_ = mkdtemp(name.data());
  }
  ~LogTailTest() override { std::filesystem::remove_all(dir_); }

  std::string TailOf(const std::string& content) {
    EXPECT_TRUE(WriteFileAtomic(path(), content).ok());
    return LogTail(path());
  }
  std::string path() const { return dir_ + "/rank-0.log"; }
  std::string dir_;
};

std::string Lines(int first, int last) {
  std::string text;
  for (int i = first; i <= last; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

TEST_F(LogTailTest, ShortFilesWhole) {
  EXPECT_EQ(LogTail(path()), "");
  EXPECT_EQ(TailOf(""), "");
  EXPECT_EQ(TailOf("\n"), "\n");
  EXPECT_EQ(TailOf("no newline"), "no newline");
  EXPECT_EQ(TailOf(Lines(1, 20)), Lines(1, 20));
}

TEST_F(LogTailTest, TheLastTwentyLines) {
  EXPECT_EQ(TailOf(Lines(1, 25)), Lines(6, 25));
  EXPECT_EQ(TailOf(Lines(1, 25) + "unfinished"), Lines(7, 25) + "unfinished");
}

TEST_F(LogTailTest, AtMostFourKibibytes) {
  EXPECT_EQ(TailOf(std::string(5000, 'a') + "b"), std::string(4095, 'a') + "b");
}

TEST_F(LogTailTest, TextStaysAndOtherBytesAreReplaced) {
  EXPECT_EQ(TailOf("Spalte \xC3\xBC: \xFF\xFE caf\xC3\xA9\n"), "Spalte \xC3\xBC: ?? caf\xC3\xA9\n");
  // 4097 bytes: the cut goes through the first character, whose second byte is left out.
  EXPECT_EQ(TailOf("\xC3\xBC" + std::string(4095, 'x')), std::string(4095, 'x'));
}

// Sparse, above the limit of ReadFile: only the end may be read.
TEST_F(LogTailTest, AHugeLog) {
  ASSERT_TRUE(WriteFileAtomic(path(), "").ok());
  std::filesystem::resize_file(path(), (uintmax_t{1} << 30) + 1);
  const UniqueFd fd(open(path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  ASSERT_TRUE(WriteAll(fd.get(), "\nthe last words\n").ok());
  const std::string tail = LogTail(path());
  EXPECT_EQ(tail.size(), 4096u);
  EXPECT_EQ(tail.substr(4080), "\nthe last words\n");
}

}  // namespace
}  // namespace ddp
