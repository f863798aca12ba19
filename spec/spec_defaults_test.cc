#include "spec/spec_defaults.h"

#include <gtest/gtest.h>

namespace ddp {
namespace {

v1::JobSpec Filled(v1::JobSpec spec, bool gpus = false) {
  FillDefaults(spec, {.slots = 4, .has_gpus = gpus, .no_gpu_reason = ""});
  return spec;
}

TEST(SpecDefaultsTest, PlainPretrain) {
  v1::JobSpec spec;
  spec.mutable_training()->set_mode(v1::MODE_PRETRAIN);
  const v1::JobSpec full = Filled(spec);
  const v1::Training& t = full.training();
  EXPECT_EQ(full.max_restarts(), 3);
  EXPECT_EQ(full.resources().nproc(), 4);
  EXPECT_EQ(full.resources().device(), v1::DEVICE_CPU);
  EXPECT_EQ(full.resources().backend(), v1::BACKEND_SHM);
  EXPECT_EQ(t.objective(), v1::OBJECTIVE_MLM);
  EXPECT_EQ(t.data().source(), "wordnet");
  EXPECT_EQ(t.data().valid_fraction(), 0.1);
  EXPECT_EQ(t.data().vocab_size(), 16384);
  EXPECT_EQ(t.data().max_tokens(), 32);
  EXPECT_EQ(t.model().name(), "text-encoder");
  EXPECT_EQ(t.epochs(), 9);
  EXPECT_EQ(t.batch_size(), 4096);
  EXPECT_EQ(t.lr(), 1e-3);
  EXPECT_EQ(t.optimizer(), v1::OPTIMIZER_KIND_ADAM);
  EXPECT_EQ(t.weight_decay(), 0);
  EXPECT_EQ(t.schedule(), v1::SCHEDULE_KIND_STEP);
  EXPECT_EQ(t.step_size(), 3);
  EXPECT_EQ(t.gamma(), 0.1);
  EXPECT_EQ(t.keep(), 3);
  EXPECT_FALSE(t.has_max_steps());
}

TEST(SpecDefaultsTest, FinetuneAndGpus) {
  v1::JobSpec spec;
  spec.mutable_training()->set_mode(v1::MODE_FINETUNE);
  spec.mutable_training()->mutable_data()->set_source("fashion-mnist");
  const v1::JobSpec full = Filled(spec, true);
  EXPECT_EQ(full.training().objective(), v1::OBJECTIVE_CLASSIFICATION);
  EXPECT_EQ(full.training().model().name(), "convnet");
  EXPECT_EQ(full.resources().device(), v1::DEVICE_CUDA);
  EXPECT_EQ(full.resources().backend(), v1::BACKEND_NCCL);
}

// The data decides on the model, and the model on what to pretrain it with.
TEST(SpecDefaultsTest, WhatFitsTheData) {
  struct Case {
    v1::Data data;
    const char* model;
    v1::Objective objective;
    int vocab_size;
    int max_tokens;
    int64_t batch_size;
  };
  const auto file = [](const char* name) {
    v1::Data data;
    data.set_source(name);
    return data;
  };
  v1::Data columns = file("/d/a.csv");
  columns.add_feature_columns("x");
  v1::Data images = columns;
  images.set_image_shape("1x8x8");
  for (const Case& c :
       {Case{{}, "text-encoder", v1::OBJECTIVE_MLM, 16384, 32, 4096},
        Case{file("/d/a.bin"), "gpt", v1::OBJECTIVE_CLM, 50257, 256, 64},
        Case{file("/d/a.npy"), "mlp", v1::OBJECTIVE_DENOISING, 16384, 32, 4096},
        Case{file("/d/train-images-idx3-ubyte.gz"), "convnet", v1::OBJECTIVE_DENOISING, 16384, 32, 4096},
        Case{columns, "mlp", v1::OBJECTIVE_DENOISING, 16384, 32, 4096},
        Case{images, "convnet", v1::OBJECTIVE_DENOISING, 16384, 32, 4096}}) {
    v1::JobSpec spec;
    spec.mutable_training()->set_mode(v1::MODE_PRETRAIN);
    *spec.mutable_training()->mutable_data() = c.data;
    const v1::JobSpec filled = Filled(spec);
    const v1::Training& full = filled.training();
    EXPECT_EQ(full.model().name(), c.model) << c.data.source();
    EXPECT_EQ(full.objective(), c.objective) << c.data.source();
    EXPECT_EQ(full.data().vocab_size(), c.vocab_size) << c.data.source();
    EXPECT_EQ(full.data().max_tokens(), c.max_tokens) << c.data.source();
    EXPECT_EQ(full.batch_size(), c.batch_size) << c.data.source();
  }
}

TEST(SpecDefaultsTest, ACheckpointBringsItsTokenizer) {
  for (const char* from : {"0abc@best", "/c/step-7"}) {
    v1::JobSpec spec;
    spec.mutable_training()->set_mode(v1::MODE_PRETRAIN);
    spec.mutable_training()->set_init_from(from);
    const v1::JobSpec full = Filled(spec);
    EXPECT_EQ(full.training().data().tokenizer(), "") << from;
    EXPECT_FALSE(full.training().data().has_vocab_size()) << from;
  }
  v1::JobSpec spec;
  spec.mutable_training()->set_mode(v1::MODE_PRETRAIN);
  spec.mutable_training()->set_init_from("/w/gpt2.safetensors");
  const v1::JobSpec full = Filled(spec);
  EXPECT_EQ(full.training().data().tokenizer(), "words");
  EXPECT_EQ(full.training().data().vocab_size(), 16384);
}

TEST(SpecDefaultsTest, ExplicitNonsenseStays) {
  v1::JobSpec spec;
  spec.mutable_resources()->set_nproc(0);
  spec.mutable_training()->set_mode(v1::MODE_PRETRAIN);
  spec.mutable_training()->set_lr(0);
  spec.mutable_training()->set_batch_size(0);
  const v1::JobSpec full = Filled(spec);
  EXPECT_EQ(full.resources().nproc(), 0);
  EXPECT_EQ(full.training().lr(), 0);
  EXPECT_EQ(full.training().batch_size(), 0);
}

}  // namespace
}  // namespace ddp
