#include "worker/report/standalone_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/cores.h"
#include "ddp/v1/worker.pb.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StandaloneSpecTest : public ::testing::Test {
 protected:
  StandaloneSpecTest() {
    std::string name = ::testing::TempDir() + "standalone_spec_test.XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~StandaloneSpecTest() override { std::filesystem::remove_all(folder_); }

  absl::StatusOr<StandalonePlan> Plan(const std::string& json) {
    std::ofstream(folder_ + "/spec.json") << json;
    return PlanStandalone({.spec_file = folder_ + "/spec.json", .out = folder_ + "/out"},
                          [this](const CheckInput& input) {
                            asked_.push_back(input);
                            return input.parent_only ? parent_ : answer_;
                          });
  }
  std::string ErrorOf(const std::string& json) {
    const auto plan = Plan(json);
    return plan.ok() ? "" : std::string(plan.status().message());
  }
  static v1::Launch LaunchOf(const StandalonePlan& plan) {
    v1::Launch launch;
    EXPECT_TRUE(launch.ParseFromString(plan.launch));
    return launch;
  }

  std::string folder_;
  CheckOutput answer_;
  CheckOutput parent_;
  std::vector<CheckInput> asked_;
};

TEST_F(StandaloneSpecTest, TheDaemonsDefaultsOnOneRank) {
  answer_.notices = {"batch_size will be lowered"};
  const auto plan = Plan(R"({"training": {"mode": "MODE_PRETRAIN", "lr": 0.5}})");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->folder, folder_ + "/out");
  EXPECT_THAT(plan->notices, ElementsAre("batch_size will be lowered"));
  const v1::Launch launch = LaunchOf(*plan);
  EXPECT_EQ(launch.spec().training().lr(), 0.5);
  EXPECT_EQ(launch.spec().training().epochs(), 9);
  EXPECT_EQ(launch.spec().training().model().name(), "text-encoder");
  EXPECT_EQ(launch.spec().resources().nproc(), 1);
  EXPECT_EQ(launch.spec().resources().device(), v1::DEVICE_CPU);
  EXPECT_EQ(launch.spec().resources().backend(), v1::BACKEND_SHM);
  EXPECT_EQ(launch.checkpoint_dir(), folder_ + "/out/checkpoints");
  EXPECT_EQ(launch.init_path(), "");
  EXPECT_EQ(launch.threads_per_rank(), UsableCores());
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(asked_[0].training.lr, 0.5);
  EXPECT_EQ(asked_[0].world_size, 1);
}

TEST_F(StandaloneSpecTest, WhatIsWrong) {
  EXPECT_THAT(ErrorOf(R"({"training": {"lrr": 1}})"),
              HasSubstr(folder_ + "/spec.json: training: unknown field \"lrr\"; did you mean \"lr\"?"));
  EXPECT_EQ(ErrorOf(R"({"training": {"mode": "MODE_PRETRAIN", "lr": 0, "epochs": 0}})"),
            "training.epochs: must be > 0, got 0\ntraining.lr: must be a finite number > 0, got 0");
  EXPECT_EQ(
      ErrorOf(R"({"resources": {"nproc": 2}, "training": {"mode": "MODE_PRETRAIN"}})"),
      "resources.nproc: a worker without a daemon is one rank: leave it out or set it to 1, or use ddpctl submit; "
      "got 2");
  EXPECT_EQ(ErrorOf(R"({"resources": {"device": "DEVICE_CUDA"}, "training": {"mode": "MODE_PRETRAIN"}})"),
            "resources.device: cuda is not possible here: it takes ddp-worker-cuda, and a GPU; choose cpu");
  EXPECT_EQ(ErrorOf(R"({"training": {"mode": "MODE_PRETRAIN", "init_from": "0abc@best"}})"),
            "training.init_from: names a job, and there is no daemon here to ask for it: give the absolute path of a "
            "checkpoint folder or a .safetensors file, got \"0abc@best\"");
  EXPECT_EQ(ErrorOf(R"({"training": {"mode": "MODE_PRETRAIN", "init_from": "w.safetensors"}})"),
            "training.init_from: must be the absolute path of a checkpoint folder or a .safetensors file, got "
            "\"w.safetensors\"");
  EXPECT_TRUE(asked_.empty());  // nobody looks at data for a spec that is wrong
  answer_.violations = {{"training.data.source", "is not there"}};
  EXPECT_EQ(ErrorOf(R"({"training": {"mode": "MODE_PRETRAIN"}})"), "training.data.source: is not there");
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/out"));
}

TEST_F(StandaloneSpecTest, NoFile) {
  const auto plan = PlanStandalone({.spec_file = folder_ + "/none.json", .out = folder_ + "/out"}, nullptr);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr(folder_ + "/none.json: No such file"));
}

TEST_F(StandaloneSpecTest, AChildTakesItsParentsModel) {
  parent_.parent = {"mlp", {{"hidden", "8"}}, 7};
  const auto plan = Plan(R"({"training": {"mode": "MODE_FINETUNE", "init_from": ")" + folder_ +
                         R"(", "data": {"source": "/d.csv"}}})");
  ASSERT_TRUE(plan.ok()) << plan.status();
  const v1::Launch launch = LaunchOf(*plan);
  EXPECT_EQ(launch.spec().training().model().name(), "mlp");
  EXPECT_EQ(launch.spec().training().model().options().at("hidden"), "8");
  EXPECT_EQ(launch.spec().training().data().max_tokens(), 7);
  EXPECT_EQ(launch.init_path(), folder_);
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_[1].init_path, folder_);
}

TEST_F(StandaloneSpecTest, CheckpointsGoOnOnlyWithTheSpecThatMadeThem) {
  const std::string first = R"({"name": "a", "training": {"mode": "MODE_PRETRAIN", "lr": 0.5}})";
  const std::string other = R"({"training": {"mode": "MODE_PRETRAIN", "lr": 0.25}})";
  EXPECT_EQ(ErrorOf(first), "");
  EXPECT_EQ(ErrorOf(other), "");  // nothing has been saved
  const std::string checkpoint = folder_ + "/out/checkpoints/step-00000003";
  std::filesystem::create_directories(checkpoint);
  std::ofstream(checkpoint + "/manifest.json") << "{}";
  EXPECT_EQ(ErrorOf(R"({"name": "b", "training": {"mode": "MODE_PRETRAIN", "lr": 0.25}})"), "");
  EXPECT_THAT(ErrorOf(first), HasSubstr("holds checkpoints of another spec (modified: training.lr: 0.25 -> 0.5): "));
  EXPECT_EQ(ErrorOf(other), "");
}

TEST_F(StandaloneSpecTest, OneAtATimeInAFolder) {
  const std::string json = R"({"training": {"mode": "MODE_PRETRAIN"}})";
  const auto plan = Plan(json);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(ErrorOf(json), HasSubstr("is in use by another ddp-worker"));
}

}  // namespace
}  // namespace ddp
