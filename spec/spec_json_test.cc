#include "spec/spec_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddp {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const std::string& text) {
  const auto spec = SpecFromJson(text);
  return spec.ok() ? "" : std::string(spec.status().message());
}

TEST(SpecJsonTest, BothSpellingsOfNamesAndBothOfWholeNumbers) {
  const auto spec = SpecFromJson(R"({"name": "x", "training": {"mode": "MODE_PRETRAIN", "batch_size": "4096",
      "maxSteps": 7, "lr": 0.1, "milestones": [3, 6], "model": {"name": "mlp", "options": {"any name": "8"}}}})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->name(), "x");
  EXPECT_EQ(spec->training().mode(), v1::MODE_PRETRAIN);
  EXPECT_EQ(spec->training().batch_size(), 4096);
  EXPECT_EQ(spec->training().max_steps(), 7);
  EXPECT_EQ(spec->training().lr(), 0.1);
  EXPECT_EQ(spec->training().milestones(1), 6);
  EXPECT_EQ(spec->training().model().options().at("any name"), "8");
  EXPECT_FALSE(spec->training().has_epochs());
}

TEST(SpecJsonTest, WhatIsWrongIsNamedWithItsPath) {
  EXPECT_EQ(ErrorOf(R"({"training": {"lrr": 1}})"), "training: unknown field \"lrr\"; did you mean \"lr\"?");
  EXPECT_THAT(ErrorOf(R"({"spec": {}})"), HasSubstr("unknown field \"spec\"; known here: name, tags, "));
  EXPECT_THAT(ErrorOf(R"({"training": {"data": {"sorce": "wordnet"}}})"),
              HasSubstr("training.data: unknown field \"sorce\"; did you mean \"source\"?"));
  EXPECT_EQ(ErrorOf(R"({"training": {"mode": "pretrain"}})"),
            "training.mode: must be one of MODE_UNSPECIFIED, MODE_PRETRAIN, MODE_FINETUNE; got \"pretrain\"");
  EXPECT_THAT(ErrorOf(R"({"training": {"lr": "fast"}})"), HasSubstr("training.lr: "));
  EXPECT_THAT(ErrorOf(R"({"training": {"epochs": 99999999999}})"), HasSubstr("training.epochs: "));
  EXPECT_THAT(ErrorOf(R"({"training": 3})"), HasSubstr("training"));
}

// Protobuf's own parser takes the last of two and "no" for false.
TEST(SpecJsonTest, NothingIsThereTwiceOrReadAsSomethingElse) {
  EXPECT_EQ(ErrorOf(R"({"training": {"lr": 1, "epochs": 2, "lr": 3}})"),
            "the name \"lr\" is there twice in one object: leave one out");
  EXPECT_EQ(ErrorOf(R"({"training": {"model": {"options": {"dim": "8", "dim": "9"}}}})"),
            "the name \"dim\" is there twice in one object: leave one out");
  EXPECT_EQ(ErrorOf(R"({"name": "x", "training": {"batch_size": 1, "batchSize": 2}})"),
            "training.batch_size: is there twice: leave one out");
  EXPECT_EQ(ErrorOf(R"({"name": "x", "training": {"model": {"name": "mlp"}, "data": {}}})"), "");
  EXPECT_EQ(ErrorOf(R"({"training": {"nesterov": "no"}})"), "training.nesterov: must be true or false, got \"no\"");
  EXPECT_EQ(ErrorOf(R"({"training": {"nesterov": true}})"), "");
}

TEST(SpecJsonTest, NoJson) {
  EXPECT_THAT(ErrorOf("{\n\"name\": x}"), HasSubstr("is no JSON: parse error at line 2, column 9"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("is no JSON"));
  EXPECT_THAT(ErrorOf("[1]"), HasSubstr("must be an object"));
}

}  // namespace
}  // namespace ddp
