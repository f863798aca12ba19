#include "worker/checkpoint/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/files.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Fails at the n-th call.
class FailingDisk final : public CheckpointDisk {
 public:
  explicit FailingDisk(int calls) : left_(calls) {}
  absl::Status Write(int fd, std::string_view bytes) override {
    return Try([&] { return Real().Write(fd, bytes); });
  }
  absl::Status Sync(int fd) override {
    return Try([&] { return Real().Sync(fd); });
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    return Try([&] { return Real().Rename(from, to); });
  }
  bool failed() const { return left_ < 0; }

 private:
  template <typename Call>
  absl::Status Try(Call call) {
    if (--left_ < 0) return absl::ResourceExhaustedError("No space left on device");
    return call();
  }
  int left_;
};

class FolderTest : public ::testing::Test {
 protected:
  FolderTest() {
    std::string name = ::testing::TempDir() + "/folder_test.XXXXXX";
    root_ = std::string(mkdtemp(name.data())) + "/checkpoints";
  }
  ~FolderTest() override { std::filesystem::remove_all(std::filesystem::path(root_).parent_path()); }

  absl::StatusOr<std::string> Commit(int64_t step, const std::string& text,
                                     CheckpointDisk& disk = CheckpointDisk::Real()) {
    return CommitCheckpoint(root_, step, 1,
                            {{"a.bin", [text](CheckpointFile& f) { return f.Append(text); }},
                             {"b.bin", [](CheckpointFile& f) { return f.Append("b"); }}},
                            disk);
  }
  std::string Text(int64_t step) { return *ReadFile(root_ + "/" + CheckpointName(step) + "/a.bin"); }

  std::string root_;
};

TEST(CheckpointNameTest, OnlyNamesThatWeMake) {
  EXPECT_EQ(CheckpointName(1234), "step-00001234");
  EXPECT_EQ(CheckpointStep("step-00001234"), 1234);
  EXPECT_EQ(CheckpointStep("step-123456789"), 123456789);
  for (const char* other :
       {"step-1234", "step-0000123x", "step--0000001", "stop-00000001", "step-", "", ".tmp-step-00000001"}) {
    EXPECT_EQ(CheckpointStep(other), -1) << other;
  }
}

TEST_F(FolderTest, CommitVerifyList) {
  EXPECT_THAT(ListCheckpoints(root_), IsEmpty());
  EXPECT_EQ(*Commit(7, "seven"), "step-00000007");
  EXPECT_EQ(*Commit(12, "twelve"), "step-00000012");
  EXPECT_THAT(ListCheckpoints(root_), ElementsAre(7, 12));
  EXPECT_TRUE(VerifyCheckpoint(root_ + "/step-00000007").ok());
  std::vector<std::string> rejected;
  EXPECT_EQ(NewestVerified(root_, &rejected), root_ + "/step-00000012");
  EXPECT_THAT(rejected, IsEmpty());
}

TEST_F(FolderTest, TheSameStepAgainReplaces) {
  ASSERT_TRUE(Commit(7, "first").ok());
  ASSERT_TRUE(Commit(7, "second").ok());
  EXPECT_EQ(Text(7), "second");
  EXPECT_THAT(*ListFolder(root_), ElementsAre("step-00000007"));
}

TEST_F(FolderTest, AFullDiskAtAnyPointKeepsTheOldCheckpoint) {
  ASSERT_TRUE(Commit(7, "old").ok());
  int failures = 0;
  for (int calls = 0;; ++calls) {
    FailingDisk disk(calls);
    const auto result = Commit(7, "new", disk);
    if (!disk.failed()) {
      ASSERT_TRUE(result.ok());
      break;
    }
    ++failures;
    EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(Text(7), "old");
    EXPECT_TRUE(VerifyCheckpoint(root_ + "/step-00000007").ok());
    EXPECT_THAT(*ListFolder(root_), ElementsAre("step-00000007"));
  }
  EXPECT_EQ(failures, 7);  // three writes, three syncs, one rename
  EXPECT_EQ(Text(7), "new");
}

TEST_F(FolderTest, EveryFlippedBitAndEveryCutIsFound) {
  ASSERT_TRUE(Commit(3, "old").ok());
  ASSERT_TRUE(Commit(9, "0123456789").ok());
  const std::string path = root_ + "/step-00000009/a.bin";
  const std::string good = *ReadFile(path);
  const auto check = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    std::vector<std::string> rejected;
    EXPECT_EQ(NewestVerified(root_, &rejected), root_ + "/step-00000003");
    ASSERT_EQ(rejected.size(), 1u);
    EXPECT_THAT(rejected[0], HasSubstr(path));
  };
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    check(bytes);
  }
  for (size_t n = 0; n < good.size(); ++n) check(good.substr(0, n));
}

TEST_F(FolderTest, RetentionKeepsTheNewestAndTouchesNothingElse) {
  for (int64_t step = 1; step <= 5; ++step) ASSERT_TRUE(Commit(step, "x").ok());
  std::filesystem::create_directories(root_ + "/mine");
  std::filesystem::create_directories(root_ + "/.tmp-step-00000009");
  ASSERT_TRUE(ApplyRetention(root_, 2, 5).ok());
  EXPECT_THAT(*ListFolder(root_), ElementsAre("mine", "step-00000004", "step-00000005"));
  ASSERT_TRUE(ApplyRetention(root_, 0, 5).ok());
  EXPECT_THAT(ListCheckpoints(root_), ElementsAre(5));
}

// Step 100 did not verify and training went back to 50: what is saved from there on is not older than 100.
TEST_F(FolderTest, RetentionNeverRemovesWhatHasJustBeenSaved) {
  for (const int64_t step : {50, 100}) ASSERT_TRUE(Commit(step, "x").ok());
  for (const int64_t step : {60, 70}) {
    ASSERT_TRUE(Commit(step, "x").ok());
    ASSERT_TRUE(ApplyRetention(root_, 1, step).ok());
    EXPECT_THAT(ListCheckpoints(root_), ElementsAre(step, 100));
  }
}

}  // namespace
}  // namespace ddp
