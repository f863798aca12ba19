#include "spec/spec_validation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace ddp {
namespace {

const MachineFacts kMachine{.slots = 4, .has_gpus = false, .no_gpu_reason = "no driver"};

v1::JobSpec Good() {
  v1::JobSpec spec;
  spec.mutable_training()->set_mode(v1::MODE_PRETRAIN);
  FillDefaults(spec, kMachine);
  return spec;
}

TEST(SpecValidationTest, DefaultsAreGood) {
  EXPECT_TRUE(Validate(Good(), kMachine).empty());
  v1::JobSpec finetune;
  finetune.mutable_training()->set_mode(v1::MODE_FINETUNE);
  FillDefaults(finetune, kMachine);
  EXPECT_TRUE(Validate(finetune, kMachine).empty());
}

TEST(SpecValidationTest, EveryFieldIsNamedWithItsValue) {
  using Change = std::function<void(v1::JobSpec&)>;
  const auto t = [](auto change) -> Change { return [change](v1::JobSpec& s) { change(*s.mutable_training()); }; };
  const auto d = [](auto change) -> Change {
    return [change](v1::JobSpec& s) { change(*s.mutable_training()->mutable_data()); };
  };
  const std::vector<std::tuple<const char*, const char*, Change>> cases{
      {"name", "at most 200 bytes, got 201", [](v1::JobSpec& s) { s.set_name(std::string(201, 'x')); }},
      {"tags", "at most 32, got 33",
       [](v1::JobSpec& s) {
         for (int i = 0; i < 33; ++i) s.add_tags("t");
       }},
      {"tags[0]", "at most 64 bytes, got 65", [](v1::JobSpec& s) { s.add_tags(std::string(65, 'x')); }},
      // One word about each list, however long it is.
      {"tags[1]", "at most 64 bytes, got 65",
       [](v1::JobSpec& s) {
         s.add_tags("fine");
         for (int i = 0; i < 31; ++i) s.add_tags(std::string(65, 'x'));
       }},
      {"name", "must be UTF-8, got \"a\\xFFb\"",
       [](v1::JobSpec& s) {
         s.set_name(
             "a\xFF"
             "b");
       }},
      {"name", "NUL", [](v1::JobSpec& s) { s.set_name(std::string("a\0b", 3)); }},
      {"priority", "got 1001", [](v1::JobSpec& s) { s.set_priority(1001); }},
      {"max_restarts", "got -1", [](v1::JobSpec& s) { s.set_max_restarts(-1); }},
      {"resources.nproc", "got 0", [](v1::JobSpec& s) { s.mutable_resources()->set_nproc(0); }},
      {"resources.nproc", "4 CPU slots), got 5", [](v1::JobSpec& s) { s.mutable_resources()->set_nproc(5); }},
      {"resources.backend", "nccl needs device cuda",
       [](v1::JobSpec& s) { s.mutable_resources()->set_backend(v1::BACKEND_NCCL); }},
      {"training.lr", "got 0", t([](v1::Training& x) { x.set_lr(0); })},
      {"training.lr", "got nan", t([](v1::Training& x) { x.set_lr(NAN); })},
      {"training.lr", "got inf", t([](v1::Training& x) { x.set_lr(INFINITY); })},
      {"training.batch_size", "got 0", t([](v1::Training& x) { x.set_batch_size(0); })},
      {"training.micro_batch", "got -1", t([](v1::Training& x) { x.set_micro_batch(-1); })},
      {"training.epochs", "got 0", t([](v1::Training& x) { x.set_epochs(0); })},
      {"training.max_steps", "got 0", t([](v1::Training& x) { x.set_max_steps(0); })},
      {"training.weight_decay", "got -0.1", t([](v1::Training& x) { x.set_weight_decay(-0.1); })},
      {"training.momentum", "only sgd", t([](v1::Training& x) { x.set_momentum(0.9); })},
      {"training.momentum", "got 1", t([](v1::Training& x) { x.set_momentum(1); })},
      {"training.nesterov", "only sgd with a momentum", t([](v1::Training& x) { x.set_nesterov(true); })},
      {"training.beta1", "got 1", t([](v1::Training& x) { x.set_beta1(1); })},
      {"training.beta2", "got -0.5", t([](v1::Training& x) { x.set_beta2(-0.5); })},
      {"training.eps", "got 0", t([](v1::Training& x) { x.set_eps(0); })},
      {"training.clip", "got -1", t([](v1::Training& x) { x.set_clip(-1); })},
      {"training.warmup", "got -1", t([](v1::Training& x) { x.set_warmup(-1); })},
      {"training.min_lr", "only cosine and linear", t([](v1::Training& x) { x.set_min_lr(1e-5); })},
      {"training.min_lr", "must not be above lr, 0.001; got 0.01", t([](v1::Training& x) {
         x.set_schedule(v1::SCHEDULE_KIND_COSINE);
         x.set_min_lr(0.01);
       })},
      {"training.milestones", "not given", t([](v1::Training& x) { x.set_schedule(v1::SCHEDULE_KIND_MULTISTEP); })},
      {"training.milestones", "only the schedule multistep", t([](v1::Training& x) { x.add_milestones(3); })},
      {"training.milestones[1]", "must be above 6, got 6", t([](v1::Training& x) {
         x.set_schedule(v1::SCHEDULE_KIND_MULTISTEP);
         for (const int m : {6, 6, 5}) x.add_milestones(m);
       })},
      {"training.best_metric", "got \"loss\"", t([](v1::Training& x) { x.set_best_metric("loss"); })},
      {"training.best_metric", "this objective has no accuracy", t([](v1::Training& x) {
         x.set_objective(v1::OBJECTIVE_EMBEDDING);
         x.set_best_metric("valid_acc");
       })},
      {"training.best_metric", "without validation", t([](v1::Training& x) {
         x.mutable_data()->set_valid("none");
         x.set_best_metric("valid_acc");
       })},
      {"training.patience", "got -1", t([](v1::Training& x) { x.set_patience(-1); })},
      {"training.watch_every", "got -1", t([](v1::Training& x) { x.set_watch_every(-1); })},
      {"training.freeze[0]", "at most 1024 bytes", t([](v1::Training& x) { x.add_freeze(std::string(1025, 'x')); })},
      {"training.step_size", "got 0", t([](v1::Training& x) { x.set_step_size(0); })},
      {"training.gamma", "got 0", t([](v1::Training& x) { x.set_gamma(0); })},
      {"training.checkpoint_every", "got -1", t([](v1::Training& x) { x.set_checkpoint_every(-1); })},
      {"training.keep", "got 0", t([](v1::Training& x) { x.set_keep(0); })},
      {"training.valid_every", "got -1", t([](v1::Training& x) { x.set_valid_every(-1); })},
      {"training.objective", "mlm, clm, embedding or denoising",
       t([](v1::Training& x) { x.set_objective(v1::OBJECTIVE_REGRESSION); })},
      {"training.objective", "none stands for a hidden token", t([](v1::Training& x) {
         x.mutable_data()->set_source("/d/a.bin");
         x.set_objective(v1::OBJECTIVE_MLM);
       })},
      // What would have no effect.
      {"training.beta1", "only adam and adamw", t([](v1::Training& x) {
         x.set_optimizer(v1::OPTIMIZER_KIND_SGD);
         x.set_beta1(0.9);
       })},
      {"training.beta2", "only adam and adamw", t([](v1::Training& x) {
         x.set_optimizer(v1::OPTIMIZER_KIND_SGD);
         x.set_beta2(0.99);
       })},
      {"training.eps", "only adam and adamw", t([](v1::Training& x) {
         x.set_optimizer(v1::OPTIMIZER_KIND_SGD);
         x.set_eps(1e-6);
       })},
      {"training.step_size", "only the schedule step", t([](v1::Training& x) {
         x.set_schedule(v1::SCHEDULE_KIND_MULTISTEP);
         x.add_milestones(3);
         x.set_step_size(3);
       })},
      {"training.step_size", "only the schedule step", t([](v1::Training& x) {
         x.set_schedule(v1::SCHEDULE_KIND_CONSTANT);
         x.set_step_size(3);
       })},
      {"training.gamma", "only step and multistep", t([](v1::Training& x) {
         x.set_schedule(v1::SCHEDULE_KIND_LINEAR);
         x.set_gamma(0.5);
       })},
      {"training.valid_every", "there is no validation", t([](v1::Training& x) {
         x.mutable_data()->set_valid("none");
         x.set_valid_every(10);
       })},
      {"training.data.valid_fraction", "only when valid is empty", d([](v1::Data& x) {
         x.set_valid("/d/v.csv");
         x.set_valid_fraction(0.2);
       })},
      {"training.data.tokenizer", "holds tokens already", d([](v1::Data& x) {
         x.set_source("/d/a.bin");
         x.set_tokenizer("words");
       })},
      {"training.data.vocab_size", "the tokenizer \"bytes\" has a vocabulary of its own", d([](v1::Data& x) {
         x.set_tokenizer("bytes");
         x.set_vocab_size(259);
       })},
      {"training.data.vocab_size", "the tokenizer \"sentencepiece:/m.model\" has a vocabulary of its own",
       d([](v1::Data& x) {
         x.set_tokenizer("sentencepiece:/m.model");
         x.set_vocab_size(8000);
       })},
      {"training.data.source", "did you mean wordnet?", d([](v1::Data& x) { x.set_source("wordnt"); })},
      {"training.data.source", "absolute path", d([](v1::Data& x) { x.set_source("a.csv"); })},
      {"training.data.source", "must end with one of .csv, .tsv", d([](v1::Data& x) { x.set_source("/etc/passwd"); })},
      {"training.data.source", "at most 4096 bytes, got 9000",
       d([](v1::Data& x) { x.set_source(std::string(9000, 'x')); })},
      {"training.data.source", "xxx\"... (3000 bytes)", d([](v1::Data& x) { x.set_source(std::string(3000, 'x')); })},
      {"training.data.tokenizer", "at most 4096 bytes, got 9000",
       d([](v1::Data& x) { x.set_tokenizer(std::string(9000, 'y')); })},
      {"training.data.valid", "absolute path", d([](v1::Data& x) { x.set_valid("b.csv"); })},
      {"training.data.valid_fraction", "got 1", d([](v1::Data& x) { x.set_valid_fraction(1); })},
      {"training.data.limit", "got 0", d([](v1::Data& x) { x.set_limit(0); })},
      {"training.data.tokenizer", "words, bytes or sentencepiece:", d([](v1::Data& x) { x.set_tokenizer("bpe"); })},
      {"training.data.vocab_size", "got 7", d([](v1::Data& x) { x.set_vocab_size(7); })},
      {"training.data.max_tokens", "got 0", d([](v1::Data& x) { x.set_max_tokens(0); })},
  };
  for (const auto& [field, text, change] : cases) {
    v1::JobSpec spec;
    spec.mutable_training()->set_mode(v1::MODE_PRETRAIN);
    change(spec);
    FillDefaults(spec, kMachine);
    const auto violations = Validate(spec, kMachine);
    ASSERT_EQ(violations.size(), 1u) << field << " " << text;
    EXPECT_EQ(violations[0].field(), field);
    EXPECT_NE(violations[0].description().find(text), std::string::npos) << violations[0].description();
    EXPECT_LT(violations[0].description().size(), 400u) << field;
  }
}

// A complete spec, as jobs show it, can be submitted again.
TEST(SpecValidationTest, CompleteSpecsAreGood) {
  for (const auto schedule : {v1::SCHEDULE_KIND_STEP, v1::SCHEDULE_KIND_COSINE, v1::SCHEDULE_KIND_CONSTANT}) {
    for (const char* source : {"", "/d/a.bin", "/d/a.txt"}) {
      v1::JobSpec spec;
      v1::Training& training = *spec.mutable_training();
      training.set_mode(v1::MODE_PRETRAIN);
      training.set_schedule(schedule);
      training.set_optimizer(v1::OPTIMIZER_KIND_SGD);
      training.mutable_data()->set_source(source);
      if (std::string(source) == "/d/a.txt") training.mutable_data()->set_tokenizer("bytes");
      training.mutable_data()->set_valid("none");
      FillDefaults(spec, kMachine);
      const std::string once = spec.SerializeAsString();
      FillDefaults(spec, kMachine);
      EXPECT_EQ(spec.SerializeAsString(), once);
      EXPECT_TRUE(Validate(spec, kMachine).empty()) << source;
    }
  }
}

TEST(SpecValidationTest, ManyCheckpointsMayBeKept) {
  v1::JobSpec spec = Good();
  spec.mutable_training()->set_keep(2000000);
  EXPECT_TRUE(Validate(spec, kMachine).empty());
}

TEST(SpecValidationTest, CudaWithoutAGpuSaysWhy) {
  v1::JobSpec spec = Good();
  spec.mutable_resources()->set_device(v1::DEVICE_CUDA);
  spec.mutable_resources()->set_backend(v1::BACKEND_NCCL);
  const auto violations = Validate(spec, kMachine);
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].field(), "resources.device");
  EXPECT_EQ(violations[0].description(), "cuda is not possible here: no driver; choose cpu");
}

TEST(SpecValidationTest, AllViolationsAtOnceAndNoWorkload) {
  v1::JobSpec spec = Good();
  spec.mutable_training()->set_lr(-1);
  spec.mutable_training()->set_epochs(0);
  EXPECT_EQ(Validate(spec, kMachine).size(), 2u);
  v1::JobSpec empty;
  FillDefaults(empty, kMachine);
  ASSERT_EQ(Validate(empty, kMachine).size(), 1u);
  EXPECT_EQ(Validate(empty, kMachine)[0].field(), "training");
}

}  // namespace
}  // namespace ddp
