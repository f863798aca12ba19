// What WriteSnapshot leaves beside the checkpoints.
#include "worker/train/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "common/files.h"
#include "worker/checkpoint/folder.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;

class SnapshotTest : public ::testing::Test {
 protected:
  SnapshotTest() {
    std::string name = ::testing::TempDir() + "/snapshot_test.XXXXXX";
    config_.checkpoint_dir = mkdtemp(name.data());
    config_.training.best_metric = "valid_loss";
    config_.training.keep = 1;
  }
  ~SnapshotTest() override { std::filesystem::remove_all(config_.checkpoint_dir); }

  void Write(int64_t step, const BestEpoch& best) {
    Snapshot snapshot;
    snapshot.info.state.step = step;
    snapshot.info.state.best = best;
    const absl::StatusOr<std::string> folder = WriteSnapshot(config_, snapshot);
    ASSERT_TRUE(folder.ok()) << folder.status();
  }
  std::string BestPath() const { return config_.checkpoint_dir + "/best.json"; }
  std::string Best() const { return ReadFile(BestPath()).value_or(""); }

  WorkerConfig config_;
};

constexpr char kBestIs10[] = "{\"metric\":\"valid_loss\",\"step\":10,\"value\":0.5}\n";

TEST_F(SnapshotTest, TheBestIsNotedAndKept) {
  Write(10, {.value = 0.5, .step = 10});
  EXPECT_EQ(Best(), kBestIs10);
  Write(20, {.value = 0.5, .step = 10, .stale_epochs = 1});
  Write(30, {.value = 0.5, .step = 10, .stale_epochs = 2});
  EXPECT_EQ(Best(), kBestIs10);
  EXPECT_THAT(ListCheckpoints(config_.checkpoint_dir), ElementsAre(10, 30));
  Write(40, {.value = 0.25, .step = 40});
  EXPECT_EQ(Best(), "{\"metric\":\"valid_loss\",\"step\":40,\"value\":0.25}\n");
  EXPECT_THAT(ListCheckpoints(config_.checkpoint_dir), ElementsAre(40));
}

// As after a SIGKILL between the commit of step 10 and its note.
TEST_F(SnapshotTest, ANoteThatACrashPreventedIsMadeLater) {
  Write(10, {.value = 0.5, .step = 10});
  std::filesystem::remove(BestPath());
  Write(20, {.value = 0.5, .step = 10, .stale_epochs = 1});
  EXPECT_EQ(Best(), kBestIs10);
}

// As after going back to step 20, since 30 did not verify.
TEST_F(SnapshotTest, ANoteOfStepsThatWereGivenUpIsReplaced) {
  config_.training.keep = 3;
  Write(10, {.value = 0.5, .step = 10});
  Write(30, {.value = 0.25, .step = 30});
  Write(20, {.value = 0.5, .step = 10, .stale_epochs = 1});
  EXPECT_EQ(Best(), kBestIs10);
}

TEST_F(SnapshotTest, WithoutAnyBestThereIsNoNote) {
  Write(10, {});
  EXPECT_FALSE(Exists(BestPath()));
}

// An mlp of two layers, of which layers.1 is the head.
TEST(KeptClassesTest, AHeadOfWhichAnythingIsKeptKeepsItsClasses) {
  SnapshotInfo from;
  from.model_name = "mlp";
  from.model_options = {{"hidden", "4"}};
  from.objective = Objective::kClassification;
  from.shape = {.objective = Objective::kClassification, .features = 2, .classes = 2};
  from.class_names = {"b", "a"};
  const auto kept = [&from](const std::vector<std::string>& reinit) {
    TrainingConfig training;
    training.reinit = reinit;
    return KeptClasses(from, training).value();
  };
  EXPECT_THAT(kept({}), ElementsAre("b", "a"));
  EXPECT_THAT(kept({"layers.0.*"}), ElementsAre("b", "a"));
  EXPECT_THAT(kept({"layers.1.bias"}), ElementsAre("b", "a"));
  EXPECT_THAT(kept({"layers.1.*"}), ElementsAre());
  EXPECT_THAT(kept({"*.weight", "*.bias"}), ElementsAre());
  from.objective = from.shape.objective = Objective::kRegression;
  EXPECT_THAT(kept({}), ElementsAre());
}

}  // namespace
}  // namespace ddp
