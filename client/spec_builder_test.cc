#include "client/spec_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "client/exit_codes.h"
#include "google/protobuf/util/message_differencer.h"

namespace ddp {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const SpecInput& input) {
  try {
    BuildSpec(input);
    return "OK";
  } catch (const ExitError& e) {
    EXPECT_EQ(e.code, kUsage);
    return e.what();
  }
}

std::string WriteFile(const std::string& text) {
  const std::string path = ::testing::TempDir() + "/spec_builder_test.yaml";
  std::ofstream(path, std::ios::trunc) << text;
  return path;
}

TEST(SpecBuilderTest, ThreeSpellingsAreOneSpec) {
  const v1::JobSpec flags = BuildSpec({.flag_values = {{"--mode", {"finetune"}},
                                                       {"--lr", {"1e-3"}},
                                                       {"--batch-size", {"64"}},
                                                       {"--model-option", {"dim=64", "layers=1"}},
                                                       {"--feature-columns", {"a,b"}},
                                                       {"--tag", {"x", "y"}},
                                                       {"--device", {"auto"}},
                                                       {"--nproc", {"2"}}}});
  EXPECT_EQ(flags.training().mode(), v1::MODE_FINETUNE);
  EXPECT_EQ(flags.training().lr(), 0.001);
  EXPECT_EQ(flags.training().model().options().at("layers"), "1");
  EXPECT_EQ(flags.training().data().feature_columns_size(), 2);
  EXPECT_EQ(flags.resources().device(), v1::DEVICE_UNSPECIFIED);
  const v1::JobSpec sets = BuildSpec(
      {.sets = {"training.mode=MODE_FINETUNE", "training.lr=0.001", "training.batch_size=64",
                "training.model.options.dim=64", "training.model.options.layers=1", "training.data.feature_columns=a",
                "training.data.feature_columns=b", "tags=x", "tags=y", "resources.device=auto", "resources.nproc=2"}});
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(flags, sets));
  const v1::JobSpec yaml = BuildSpec({.file = WriteFile("tags: [x, y]\n"
                                                        "resources: {nproc: 2, device: auto}\n"
                                                        "training:\n"
                                                        "  mode: finetune\n"
                                                        "  lr: 1e-3\n"
                                                        "  batch_size: 64\n"
                                                        "  model:\n"
                                                        "    options: {dim: 64, layers: 1}\n"
                                                        "  data:\n"
                                                        "    feature_columns: [a, b]\n")});
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(flags, yaml));
}

TEST(SpecBuilderTest, FlagsWinOverSetsWinOverTheFile) {
  const v1::JobSpec spec = BuildSpec({.file = WriteFile("training: {lr: 1, epochs: 1, seed: 1}\n"),
                                      .sets = {"training.lr=2", "training.epochs=2"},
                                      .flag_values = {{"--lr", {"3"}}}});
  EXPECT_EQ(spec.training().lr(), 3);
  EXPECT_EQ(spec.training().epochs(), 2);
  EXPECT_EQ(spec.training().seed(), 1u);
}

TEST(SpecBuilderTest, Errors) {
  EXPECT_EQ(ErrorOf({.flag_values = {{"--lr", {"abc"}}}}), "--lr: must be a number, got \"abc\"");
  EXPECT_EQ(ErrorOf({.flag_values = {{"--batch-size", {"1.5"}}}}), "--batch-size: must be a whole number, got \"1.5\"");
  EXPECT_THAT(ErrorOf({.flag_values = {{"--epochs", {"3000000000"}}}}), HasSubstr("out of range"));
  EXPECT_EQ(ErrorOf({.flag_values = {{"--seed", {"-1"}}}}), "--seed: must be a whole number >= 0, got \"-1\"");
  EXPECT_EQ(ErrorOf({.flag_values = {{"--optimizer", {"adan"}}}}),
            "--optimizer: must be one of adam, adamw, sgd; got \"adan\"");
  EXPECT_EQ(ErrorOf({.flag_values = {{"--nesterov", {"yes"}}}}), "--nesterov: must be true or false, got \"yes\"");
  EXPECT_EQ(ErrorOf({.flag_values = {{"--model-option", {"dim"}}}}), "--model-option: must be NAME=VALUE, got \"dim\"");
  EXPECT_EQ(ErrorOf({.sets = {"training.lrr=1"}}), "--set training.lrr: unknown field \"lrr\"; did you mean \"lr\"?");
  EXPECT_EQ(ErrorOf({.sets = {"training=1"}}), "--set training: is a group of fields, not one value");
  EXPECT_EQ(ErrorOf({.sets = {"training.lr.x=1"}}), "--set training.lr.x: has no fields inside");
  EXPECT_THAT(ErrorOf({.sets = {"nothing"}}), HasSubstr("must be PATH=VALUE"));
  const std::string wrong = WriteFile("name: x\ntraining:\n  epochs: many\n");
  EXPECT_EQ(ErrorOf({.file = wrong}), wrong + ":3: epochs: must be a whole number, got \"many\"");
  WriteFile("name: x\nnam: y\n");
  EXPECT_THAT(ErrorOf({.file = wrong}), HasSubstr(wrong + ":2: unknown field \"nam\"; did you mean \"name\"?"));
  WriteFile("training:\n  model:\n    options:\n      a: \"\xFF\"\n");
  EXPECT_EQ(ErrorOf({.file = wrong}), wrong + ":4: options: must be UTF-8");
  EXPECT_EQ(ErrorOf({.flag_values = {{"--model-option", {"a=\xFF"}}}}), "--model-option: must be UTF-8");
  WriteFile("tags: x\n");
  EXPECT_EQ(ErrorOf({.file = wrong}), wrong + ":1: tags: must be a list");
  WriteFile("a: [\n");
  EXPECT_THAT(ErrorOf({.file = wrong}), HasSubstr(wrong + ":"));
  WriteFile("name: x\n? [a, b]\n: 1\n");
  EXPECT_EQ(ErrorOf({.file = wrong}), wrong + ":2: the name of a field must be one word");
  WriteFile("~: 1\n");
  EXPECT_EQ(ErrorOf({.file = wrong}), wrong + ":1: the name of a field must be one word");
  WriteFile("training:\n  model:\n    options:\n      ? {a: 1}\n      : 1\n");
  EXPECT_EQ(ErrorOf({.file = wrong}), wrong + ":4: the name of a field must be one word");
  EXPECT_THAT(ErrorOf({.file = "/nowhere.yaml"}), HasSubstr("/nowhere.yaml"));
}

TEST(SpecBuilderTest, PathsBecomeAbsolute) {
  const std::string here = std::filesystem::current_path();
  const v1::JobSpec spec = BuildSpec(
      {.flag_values = {{"--data", {"d/../a.csv"}}, {"--valid", {"b.csv"}}, {"--init-from", {"w.safetensors"}}}});
  EXPECT_EQ(spec.training().data().source(), here + "/a.csv");
  EXPECT_EQ(spec.training().data().valid(), here + "/b.csv");
  EXPECT_EQ(spec.training().init_from(), here + "/w.safetensors");
  const v1::JobSpec names =
      BuildSpec({.flag_values = {{"--data", {"wordnet:noun"}}, {"--valid", {"none"}}, {"--init-from", {"0abc@3"}}}});
  EXPECT_EQ(names.training().data().source(), "wordnet:noun");
  EXPECT_EQ(names.training().data().valid(), "none");
  EXPECT_EQ(names.training().init_from(), "0abc@3");
}

TEST(SpecBuilderTest, EveryFlagIsAField) {
  for (const SpecFlag& flag : SpecFlags()) EXPECT_EQ(FlagOf(flag.field), flag.flag);
  EXPECT_EQ(FlagOf("tags[3]"), "--tag");
  EXPECT_EQ(FlagOf("training.model.options.dim"), "--model-option");
  EXPECT_EQ(FlagOf("training"), "");
}

}  // namespace
}  // namespace ddp
