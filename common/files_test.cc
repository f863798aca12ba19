#include "common/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <thread>

namespace ddp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FilesTest : public testing::Test {
 protected:
  FilesTest() {
    char name[] = "/tmp/ddp-files-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~FilesTest() override { EXPECT_TRUE(RemoveTree(folder_).ok()); }
  std::string In(const std::string& name) const { return folder_ + "/" + name; }
  static mode_t Mode(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(stat(path.c_str(), &info), 0);
    return info.st_mode & 07777;
  }
  std::string folder_;
};

TEST_F(FilesTest, AtomicWriteThenRead) {
  const std::string content("a\0b\n", 4);
  ASSERT_TRUE(WriteFileAtomic(In("f"), content).ok());
  EXPECT_EQ(*ReadFile(In("f")), content);
  EXPECT_EQ(Mode(In("f")), 0600);
  ASSERT_TRUE(WriteFileAtomic(In("f"), "new").ok());
  EXPECT_EQ(*ReadFile(In("f")), "new");
  EXPECT_THAT(*ListFolder(folder_), ElementsAre("f"));  // no temporary file is left
}

TEST_F(FilesTest, ConcurrentAtomicWritesLeaveOneWholeContent) {
  std::vector<std::thread> writers;
  for (char c = 'a'; c < 'e'; ++c) {
    writers.emplace_back([&, c] {
      for (int i = 0; i < 20; ++i) EXPECT_TRUE(WriteFileAtomic(In("f"), std::string(100000, c)).ok());
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string content = *ReadFile(In("f"));
  EXPECT_EQ(content, std::string(100000, content[0]));
  EXPECT_THAT(*ListFolder(folder_), ElementsAre("f"));
}

TEST_F(FilesTest, FailedAtomicWriteKeepsTheOldFileAndLeavesNothing) {
  ASSERT_TRUE(MakeFolders(In("target")).ok());  // a file cannot replace a folder
  EXPECT_FALSE(WriteFileAtomic(In("target"), "x").ok());
  EXPECT_THAT(*ListFolder(folder_), ElementsAre("target"));
  EXPECT_EQ(WriteFileAtomic(In("none/f"), "x").code(), absl::StatusCode::kNotFound);
}

TEST_F(FilesTest, ReadErrorsNamePathAndReason) {
  const absl::Status missing = ReadFile(In("missing")).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(missing.message(), "cannot open " + In("missing") + ": No such file or directory");
  EXPECT_EQ(ReadFile(folder_).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(FilesTest, ReadOfAPipeIsRefusedInsteadOfHanging) {
  ASSERT_EQ(mkfifo(In("pipe").c_str(), 0600), 0);
  EXPECT_THAT(std::string(ReadFile(In("pipe")).status().message()), HasSubstr("not a regular file"));
}

TEST_F(FilesTest, ReadLimitIsInclusive) {
  ASSERT_TRUE(WriteFileAtomic(In("f"), "12345").ok());
  EXPECT_EQ(*ReadFile(In("f"), 5), "12345");
  EXPECT_EQ(ReadFile(In("f"), 4).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(FilesTest, ReadsFilesOfProcWhoseSizeIsZero) { EXPECT_FALSE(ReadFile("/proc/self/stat")->empty()); }

TEST_F(FilesTest, MakeFoldersMakesParentsPrivate) {
  ASSERT_TRUE(MakeFolders(In("a/b/c")).ok());
  EXPECT_TRUE(MakeFolders(In("a/b/c")).ok());
  EXPECT_EQ(Mode(In("a")), 0700);
  EXPECT_EQ(Mode(In("a/b/c")), 0700);
  ASSERT_TRUE(WriteFileAtomic(In("file"), "").ok());
  EXPECT_FALSE(MakeFolders(In("file")).ok());
  EXPECT_FALSE(MakeFolders(In("file/x")).ok());
}

TEST_F(FilesTest, RemoveTreeDoesNotFollowLinks) {
  ASSERT_TRUE(MakeFolders(In("keep")).ok());
  ASSERT_TRUE(WriteFileAtomic(In("keep/f"), "x").ok());
  ASSERT_TRUE(MakeFolders(In("gone/sub")).ok());
  ASSERT_EQ(symlink(In("keep").c_str(), In("gone/sub/link").c_str()), 0);
  EXPECT_TRUE(RemoveTree(In("gone")).ok());
  EXPECT_TRUE(RemoveTree(In("gone")).ok());
  EXPECT_FALSE(Exists(In("gone")));
  EXPECT_TRUE(Exists(In("keep/f")));
}

TEST_F(FilesTest, ListIsSorted) {
  for (const char* name : {"c", "a", ".b"}) ASSERT_TRUE(WriteFileAtomic(In(name), "").ok());
  EXPECT_THAT(*ListFolder(folder_), ElementsAre(".b", "a", "c"));
  EXPECT_EQ(ListFolder(In("none")).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(FilesTest, LockIsExclusiveUntilTheLastCopyIsClosed) {
  auto first = TryLockFile(In("lock"));
  ASSERT_TRUE(first.ok() && first->has_value());
  EXPECT_EQ(Mode(In("lock")), 0600);
  UniqueFd copy(dup((*first)->get()));
  EXPECT_FALSE(TryLockFile(In("lock"))->has_value());
  first->reset();
  EXPECT_FALSE(TryLockFile(In("lock"))->has_value());
  copy = UniqueFd();
  EXPECT_TRUE(TryLockFile(In("lock"))->has_value());
}

TEST_F(FilesTest, LockDescriptorIsCloseOnExec) {
  const auto lock = TryLockFile(In("lock"));
  EXPECT_EQ(fcntl((*lock)->get(), F_GETFD), FD_CLOEXEC);
}

TEST(ErrnoStatus, MapsKinds) {
  EXPECT_EQ(ErrnoStatus(EACCES, "x").code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(ErrnoStatus(EEXIST, "x").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(ErrnoStatus(ENOSPC, "x").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ErrnoStatus(EIO, "cannot do y").message(), "cannot do y: Input/output error");
}

TEST(UniqueFd, ClosesOnceAndMoves) {
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
  UniqueFd reader(fds[0]);
  {
    UniqueFd writer(fds[1]);
    UniqueFd moved(std::move(writer));
    EXPECT_FALSE(writer.valid());  // NOLINT(bugprone-use-after-move): the moved-from state is what is tested
    moved = std::move(moved);
    EXPECT_EQ(fcntl(fds[1], F_GETFD), FD_CLOEXEC);
  }
  EXPECT_EQ(fcntl(fds[1], F_GETFD), -1);
}

TEST(DefaultHome, EnvironmentWins) {
  setenv("DDPD_HOME", "/x/y", 1);
  EXPECT_EQ(DefaultHome(), "/x/y");
  unsetenv("DDPD_HOME");
  setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(DefaultHome(), "/home/somebody/.local/state/ddpd");
}

TEST(ExecutableFolder, HoldsThisTest) { EXPECT_TRUE(Exists(ExecutableFolder() + "/common_test")); }

}  // namespace
}  // namespace ddp
