#include "worker/checkpoint/describe.h"

#include <gtest/gtest.h>

#include <ctime>

#include "worker/checkpoint/folder.h"
#include "worker/formats/testing.h"

namespace ddp {
namespace {

void Commit(const std::string& root, int64_t step, const std::string& state) {
  const auto result =
      CommitCheckpoint(root, step, 2, {{"state.json", [&state](CheckpointFile& file) { return file.Append(state); }}});
  ASSERT_TRUE(result.ok()) << result.status();
}

TEST(DescribeTest, WhatTheFilesSay) {
  const TestFolder test;
  Commit(test.path(), 10, R"({"epoch": 1, "valid_loss": 0.5, "valid_accuracy": 0.75})");
  Commit(test.path(), 20, R"({"epoch": 2})");
  test.Write("best.json", R"({"step": 10, "metric": "valid_loss", "value": 0.5})");
  const auto all = DescribeCheckpoints(test.path());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].step, 10);
  EXPECT_EQ(all[0].folder, test.path() + "/step-00000010");
  EXPECT_EQ(all[0].attempt, 2);
  EXPECT_TRUE(all[0].best);
  EXPECT_EQ(all[0].epoch, 1);
  EXPECT_EQ(all[0].valid_loss, 0.5);
  EXPECT_EQ(all[0].valid_accuracy, 0.75);
  EXPECT_NEAR(static_cast<double>(all[0].time), static_cast<double>(time(nullptr)), 60);
  const auto size = [&](const char* file) {
    return static_cast<int64_t>(std::filesystem::file_size(all[1].folder + "/" + file));
  };
  EXPECT_EQ(all[1].bytes, size("state.json") + size("manifest.json"));
  EXPECT_FALSE(all[1].best);
  EXPECT_FALSE(all[1].valid_loss.has_value());
}

TEST(DescribeTest, DamagedFilesAreLeftOut) {
  const TestFolder test;
  Commit(test.path(), 10, "not json");
  Commit(test.path(), 20, R"({"epoch": "two", "valid_loss": null})");
  test.Write("best.json", "[1]");
  const auto all = DescribeCheckpoints(test.path());
  ASSERT_EQ(all.size(), 2u);
  for (const CheckpointDescription& checkpoint : all) {
    EXPECT_FALSE(checkpoint.epoch.has_value() || checkpoint.valid_loss.has_value() || checkpoint.best);
  }
  EXPECT_TRUE(DescribeCheckpoints("/nowhere").empty());
}

}  // namespace
}  // namespace ddp
