#include "client/output.h"

#include <gtest/gtest.h>

#include "client/text_table.h"

namespace ddp {
namespace {

TEST(OutputTest, JsonHasProtoNamesAndDefaults) {
  v1::JobEvent event;
  event.set_from_state(v1::JOB_STATE_QUEUED);
  const std::string json = ToJson(event);
  EXPECT_NE(json.find("\"from_state\": \"JOB_STATE_QUEUED\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"attempt\": 0"), std::string::npos) << json;
}

TEST(OutputTest, YamlIsBlockStyle) {
  v1::JobSpec spec;
  spec.set_name("a: b");
  spec.add_tags("x");
  spec.mutable_training()->set_lr(0.001);
  EXPECT_EQ(ToYaml(spec), "name: \"a: b\"\ntags:\n  - x\ntraining:\n  lr: 0.001\n");
}

TEST(OutputTest, Ages) {
  EXPECT_EQ(AgeText(absl::Seconds(-5)), "0s");
  EXPECT_EQ(AgeText(absl::Seconds(119)), "119s");
  EXPECT_EQ(AgeText(absl::Seconds(120)), "2m");
  EXPECT_EQ(AgeText(absl::Hours(2)), "2h");
  EXPECT_EQ(AgeText(absl::Hours(48)), "2d");
}

TEST(TextTableTest, LinesUpAndEscapes) {
  EXPECT_EQ(TextTable({{"ID", "NAME", "X"}, {"1", "a\nb", ""}, {"22", "Zürich", "y"}}),
            "ID  NAME    X\n"
            "1   a\\nb\n"
            "22  Zürich  y\n");
}

TEST(OutputTest, LossOfTheLastStep) {
  v1::Job job;
  EXPECT_EQ(LossText(job), "-");
  job.mutable_progress()->set_step(12);
  EXPECT_EQ(LossText(job), "0.0000");
  job.mutable_progress()->set_loss(0.69314718);
  EXPECT_EQ(LossText(job), "0.6931");
  job.mutable_spec()->mutable_imported()->set_source("/runs/a");
  EXPECT_EQ(LossText(job), "0.6931");
  job.mutable_progress()->clear_loss();
  EXPECT_EQ(LossText(job), "-");
}

}  // namespace
}  // namespace ddp
