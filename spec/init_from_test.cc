#include "spec/init_from.h"

#include <gtest/gtest.h>

namespace ddp {
namespace {

TEST(InitFromTest, WhatItNames) {
  EXPECT_EQ(ParseInitFrom("")->kind, InitFrom::Kind::kNone);
  EXPECT_EQ(ParseInitFrom("/a/b.safetensors")->path, "/a/b.safetensors");
  const auto job = ParseInitFrom("0abc");
  EXPECT_EQ(job->kind, InitFrom::Kind::kJob);
  EXPECT_EQ(job->job, "0abc");
  EXPECT_EQ(job->step, InitFrom::kLast);
  EXPECT_EQ(ParseInitFrom("0abc@last")->step, InitFrom::kLast);
  EXPECT_EQ(ParseInitFrom("0abc@best")->step, InitFrom::kBest);
  EXPECT_EQ(ParseInitFrom("0abc@12")->step, 12);
  for (const char* wrong : {"0abc@", "0abc@worst", "0abc@-1", "0abc@-2", "0abc@+1", "0abc@ 1",
                            "0abc@99999999999999999999", "a/b", "../x", "@3"})
    EXPECT_FALSE(ParseInitFrom(wrong).ok()) << wrong;
}

v1::Training Parent() {
  v1::Training parent;
  parent.mutable_model()->set_name("mlp");
  (*parent.mutable_model()->mutable_options())["hidden"] = "8";
  (*parent.mutable_model()->mutable_options())["layers"] = "2";
  parent.mutable_data()->set_max_tokens(7);
  return parent;
}

TEST(InitFromTest, AChildHasItsParentsModelAndLength) {
  v1::Training child;
  (*child.mutable_model()->mutable_options())["layers"] = "3";
  TakeFromParent(Parent(), child);
  EXPECT_EQ(child.model().name(), "mlp");
  EXPECT_EQ(child.model().options().at("hidden"), "8");
  EXPECT_EQ(child.model().options().at("layers"), "3");
  EXPECT_EQ(child.data().max_tokens(), 7);
}

TEST(InitFromTest, TheParentsVocabularyIsLeftOpen) {
  v1::Training parent = Parent();
  parent.mutable_data()->set_vocab_size(16384);
  v1::Training child;
  child.mutable_data()->set_vocab_size(16384);
  TakeFromParent(parent, child);
  EXPECT_FALSE(child.data().has_vocab_size());
  child.mutable_data()->set_vocab_size(1000);
  TakeFromParent(parent, child);
  EXPECT_EQ(child.data().vocab_size(), 1000);
}

TEST(InitFromTest, WhatAChildSaysStays) {
  v1::Training child;
  child.mutable_model()->set_name("convnet");
  child.mutable_data()->set_max_tokens(9);
  TakeFromParent(Parent(), child);
  EXPECT_EQ(child.model().name(), "convnet");
  EXPECT_TRUE(child.model().options().empty());
  EXPECT_EQ(child.data().max_tokens(), 9);
}

TEST(InitFromTest, OnlyAFolderAndAnOpenQuestionNeedADescription) {
  v1::Training open;
  EXPECT_TRUE(NeedsDescription(open, ::testing::TempDir()));
  EXPECT_FALSE(NeedsDescription(open, ""));
  EXPECT_FALSE(NeedsDescription(open, ::testing::TempDir() + "/none.safetensors"));
  v1::Training half = open;
  half.mutable_model()->set_name("mlp");
  EXPECT_TRUE(NeedsDescription(half, ::testing::TempDir()));
  half.mutable_data()->set_max_tokens(32);
  EXPECT_FALSE(NeedsDescription(half, ::testing::TempDir()));
}

}  // namespace
}  // namespace ddp
