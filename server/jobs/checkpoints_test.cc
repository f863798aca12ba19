#include "server/jobs/checkpoints.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace ddp {
namespace {

TEST(CheckpointsTest, OnlyCommittedOnesOldestFirst) {
  std::string name = ::testing::TempDir() + "/checkpoints_test.XXXXXX";
  const std::string root = mkdtemp(name.data());
  EXPECT_TRUE(CommittedCheckpoints(root + "/none").empty());
  for (const char* folder :
       {"step-00000020", "step-00000003", ".tmp-step-00000030", "step-x", "step-7", "step--0000004", "other"}) {
    std::filesystem::create_directories(root + "/" + folder);
    std::ofstream(root + "/" + folder + "/manifest.json") << "{}";
  }
  std::filesystem::create_directories(root + "/step-00000040");  // no manifest
  const auto found = CommittedCheckpoints(root);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].step, 3);
  EXPECT_EQ(found[1].step, 20);
  EXPECT_EQ(found[1].path, root + "/step-00000020");
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace ddp
