#include "worker/train/sample_texts.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "worker/models/registry.h"

namespace ddp {
namespace {

// Says what it is told to.
class PlayedModel final : public Model {
 public:
  explicit PlayedModel(std::function<at::Tensor(const Batch&)> logits) : logits_(std::move(logits)) {
    Add("w", at::zeros({1}));
  }
  LossSums Loss(const Batch&, bool) override { return {}; }
  at::Tensor Logits(const Batch& batch) override { return logits_(batch); }

 private:
  std::function<at::Tensor(const Batch&)> logits_;
};

class SampleTextsTest : public ::testing::Test {
 protected:
  // Words get their numbers in the order of their bytes, when all are equally frequent.
  void Fill(const std::vector<std::string>& lines, std::vector<int64_t> classes = {}) {
    Texts texts;
    for (const std::string& line : lines) texts.Add(line);
    std::vector<int64_t> all(lines.size());
    std::iota(all.begin(), all.end(), 0);
    data_.tokenizer = Tokenizer::Words(texts, all, 1000);
    std::vector<int32_t> tokens;
    std::vector<int64_t> offsets{0};
    std::vector<uint64_t> hashes;
    for (const std::string& line : lines) {
      data_.tokenizer.Encode(line, 1000, &tokens);
      offsets.push_back(static_cast<int64_t>(tokens.size()));
      hashes.push_back(hashes.size());
    }
    data_.valid.tokens = std::move(tokens);
    data_.valid.token_offsets = std::move(offsets);
    data_.valid.sample_hash = std::move(hashes);
    data_.valid.classes = std::move(classes);
  }
  std::string Show(Model& model, Objective objective, int64_t at_most = 100) {
    const BatchMaker maker(data_.valid, objective, /*seed=*/1);
    return SampleTexts(model, maker, BatchCopier(at::kCPU), data_, objective, at_most, /*bf16=*/false);
  }
  Dataset data_;
};

const float kLn3 = std::log(3.0F);  // against 0: probabilities 3/4 and 1/4
const float kLn9 = std::log(9.0F);  // 9/10 and 1/10

TEST_F(SampleTextsTest, Classes) {
  Fill({"A red dog runs.", "two cats"}, {1, 1});
  data_.class_names = {"cat", "dog\n"};
  PlayedModel model([](const Batch&) { return at::tensor({0.0F, kLn3, kLn9, 0.0F}).view({2, 2}); });
  EXPECT_EQ(Show(model, Objective::kClassification),
            "1. label dog\\n, predicted dog\\n (0.75)\n"
            "   a red dog runs\n"
            "2. label dog\\n, predicted cat (0.90), wrong\n"
            "   two cats\n");
}

TEST_F(SampleTextsTest, EightTakenEvenly) {
  std::vector<std::string> lines;
  for (int i = 0; i < 20; ++i) lines.push_back("w" + std::to_string(10 + i));
  Fill(lines, std::vector<int64_t>(20, 0));
  data_.class_names = {"x"};
  std::vector<int64_t> seen;
  PlayedModel model([&](const Batch& batch) {
    for (int64_t i = 0; i < batch.size; ++i) seen.push_back(batch.tokens[i][0].item<int64_t>() - kSpecialTokens);
    return at::zeros({batch.size, 1});
  });
  Show(model, Objective::kClassification);
  EXPECT_EQ(seen, (std::vector<int64_t>{0, 2, 5, 7, 10, 12, 15, 17}));
  seen.clear();
  Show(model, Objective::kClassification, /*at_most=*/2);
  EXPECT_EQ(seen, (std::vector<int64_t>{0, 10}));
}

TEST_F(SampleTextsTest, HiddenTokens) {
  // Of a single token that one is hidden. cat 3, dog 4.
  Fill({"dog", "cat"});
  PlayedModel model([](const Batch& batch) {
    EXPECT_EQ(batch.predict_at.size(0), 2);
    at::Tensor logits = at::full({2, 5}, -INFINITY);
    logits.slice(1, 3, 5).copy_(at::tensor({kLn9, 0.0F, kLn3, 0.0F}).view({2, 2}));
    return logits;
  });
  EXPECT_EQ(Show(model, Objective::kMlm),
            "1. [mask]\n"
            "   dog -> cat (0.90)\n"
            "2. [mask]\n"
            "   cat -> cat (0.75)\n");
}

TEST_F(SampleTextsTest, Continuations) {
  // a 3, b 4, ... n 16. The model knows the alphabet. Of a text of one word there is nothing to continue.
  Fill({"a b c d e f g h i j", "k", "l n m"});
  PlayedModel model([](const Batch& batch) {
    EXPECT_FALSE(batch.mask.defined());
    return at::one_hot(batch.tokens + 1, 18).to(at::kFloat) * 20;
  });
  EXPECT_EQ(Show(model, Objective::kClm),
            "1. a b c d e\n"
            "   -> f g h i j\n"
            "   text: f g h i j\n"
            "3. l\n"
            "   -> m n\n"
            "   text: n m\n");
}

TEST_F(SampleTextsTest, ALongTextIsCut) {
  std::string line;
  for (int i = 0; i < 100; ++i) line += "a" + std::to_string(100 + i) + " ";
  Fill({line}, {0});
  data_.class_names = {"x"};
  PlayedModel model([](const Batch&) { return at::zeros({1, 1}); });
  std::string shown;
  for (int i = 0; i < 60; ++i) shown += "a" + std::to_string(100 + i) + " ";  // 300 bytes
  EXPECT_EQ(Show(model, Objective::kClassification), "1. label x, predicted x (1.00)\n   " + shown + " ...\n");
}

TEST_F(SampleTextsTest, NothingToShow) {
  Fill({"a b", "c"}, {0, 0});
  data_.class_names = {"x"};
  PlayedModel mute([](const Batch&) { return at::Tensor(); });
  for (const Objective o : {Objective::kClassification, Objective::kMlm, Objective::kClm, Objective::kEmbedding}) {
    EXPECT_EQ(Show(mute, o), "");
  }
  data_.valid = {};
  data_.valid.feature_dim = 1;
  data_.valid.features = {1};
  data_.valid.sample_hash = std::vector<uint64_t>{1};
  EXPECT_EQ(Show(mute, Objective::kClassification), "");
}

// Of a real model, with dropout.
TEST_F(SampleTextsTest, ChangesNothing) {
  Fill({"the cat sat on the mat", "a dog ran", "no"}, {0, 1, 0});
  data_.class_names = {"x", "y"};
  for (const Objective objective : {Objective::kClassification, Objective::kMlm}) {
    const ModelShape shape{
        .objective = objective, .vocab = data_.tokenizer.vocab_size(), .max_tokens = 16, .classes = 2};
    auto model = MakeModel("text-encoder", {{"dim", "8"}, {"heads", "2"}, {"dropout", "0.5"}}, shape, 5);
    ASSERT_TRUE(model.ok()) << model.status();
    std::vector<at::Tensor> before;
    for (const at::Tensor& t : (*model)->tensors()) before.push_back(t.detach().clone());
    const at::Tensor random = at::detail::getDefaultCPUGenerator().get_state();
    const std::string text = Show(**model, objective);
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(Show(**model, objective), text);
    EXPECT_TRUE(at::detail::getDefaultCPUGenerator().get_state().equal(random));
    for (size_t i = 0; i < before.size(); ++i) {
      EXPECT_TRUE((*model)->tensors()[i].equal(before[i]));
      EXPECT_FALSE((*model)->tensors()[i].grad().defined());
    }
  }
}

}  // namespace
}  // namespace ddp
