#include "worker/models/model.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <cmath>

#include "worker/models/dropout.h"
#include "worker/models/registry.h"

namespace ddp {
namespace {

Batch Features(const std::vector<std::vector<float>>& rows) {
  Batch batch;
  batch.size = static_cast<int64_t>(rows.size());
  batch.features = at::empty({batch.size, static_cast<int64_t>(rows[0].size())});
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < rows[i].size(); ++j)
      batch.features[static_cast<int64_t>(i)][static_cast<int64_t>(j)] = rows[i][j];
  }
  return batch;
}

std::unique_ptr<Model> Make(const std::string& name, const std::map<std::string, std::string>& options,
                            ModelShape shape, uint64_t seed = 0) {
  auto model = MakeModel(name, options, shape, seed);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

// R-zero: all logits equal, so the loss is ln C a sample and the first class wins.
TEST(RigZero, LossIsLogOfClassesAndTheFirstClassWins) {
  for (const auto& [classes, ln] : {std::pair<int64_t, double>{10, 2.302585}, {65, 4.174387}, {256, 5.545177}}) {
    auto model = Make("rig-zero", {}, {.features = 2, .classes = classes});
    Batch batch = Features({{1, 2}, {3, 4}, {5, 6}, {7, 8}});
    batch.classes = at::tensor({0, 0, 0, 1}, at::kLong);
    const LossSums sums = model->Loss(batch, true);
    EXPECT_NEAR(sums.loss.item<double>() / 4, ln, 1e-6);
    EXPECT_EQ(sums.correct.item<int64_t>(), 3);
    EXPECT_EQ(sums.count, 4);
  }
}

// R-index: the loss of sample i is exactly i.
TEST(RigIndex, LossIsTheIndex) {
  auto model = Make("rig-index", {}, {.objective = Objective::kRegression, .features = 1});
  for (int i = 0; i < 10; ++i) {
    Batch batch = Features({{1}});
    batch.numbers = at::tensor({std::sqrt(static_cast<float>(i))});
    EXPECT_NEAR(model->Loss(batch, true).loss.item<double>(), i, 1e-5);
  }
}

// By hand: x = (1, 2), hidden layer identity with ReLU, output (h0 - h1, h0 + h1) = (-1, 3); cross entropy of class 1
// is log(e^-1 + e^3) - 3 = log(1 + e^-4).
TEST(Mlp, ForwardByHand) {
  auto model = Make("mlp", {{"hidden", "2"}}, {.features = 2, .classes = 2});
  ASSERT_EQ(model->parameters().size(), 4U);
  EXPECT_EQ(model->parameters()[0].first, "layers.0.weight");
  EXPECT_EQ(model->parameters()[3].first, "layers.1.bias");
  const std::vector<at::Tensor> values{at::eye(2), at::zeros({2}), at::tensor({1.F, -1.F, 1.F, 1.F}).view({2, 2}),
                                       at::zeros({2})};
  for (size_t i = 0; i < 4; ++i) model->parameters()[i].second.detach().copy_(values[i]);
  Batch batch = Features({{1, 2}});
  batch.classes = at::tensor({1}, at::kLong);
  EXPECT_NEAR(model->Loss(batch, true).loss.item<double>(), std::log1p(std::exp(-4.0)), 1e-6);
}

TEST(Mlp, SameSeedSameWeightsOtherSeedOthers) {
  const ModelShape shape{.features = 4, .classes = 3};
  auto a = Make("mlp", {}, shape, 7);
  auto b = Make("mlp", {}, shape, 7);
  auto c = Make("mlp", {}, shape, 8);
  EXPECT_TRUE(a->parameters()[0].second.equal(b->parameters()[0].second));
  EXPECT_FALSE(a->parameters()[0].second.equal(c->parameters()[0].second));
}

// Padding must not change what a text is worth: alone, and beside a longer one.
TEST(TextEncoder, PaddingChangesNothing) {
  auto model = Make("text-encoder", {{"dim", "16"}, {"heads", "2"}}, {.vocab = 50, .max_tokens = 8, .classes = 3});
  Batch alone;
  alone.size = 1;
  alone.tokens = at::tensor({5, 6, 7}, at::kLong).view({1, 3});
  alone.classes = at::tensor({2}, at::kLong);
  Batch longer;
  longer.size = 1;
  longer.tokens = at::tensor({8, 9, 10, 11, 12}, at::kLong).view({1, 5});
  longer.classes = at::tensor({0}, at::kLong);
  Batch both;
  both.size = 2;
  both.tokens = at::tensor({5, 6, 7, 0, 0, 8, 9, 10, 11, 12}, at::kLong).view({2, 5});
  both.mask = both.tokens.ne(0);
  both.classes = at::tensor({2, 0}, at::kLong);
  const double apart = model->Loss(alone, false).loss.item<double>() + model->Loss(longer, false).loss.item<double>();
  EXPECT_NEAR(model->Loss(both, false).loss.item<double>(), apart, 1e-5);
}

TEST(TextEncoder, EvaluationDrawsNoRandomNumberAndTrainingDoes) {
  auto model = Make("text-encoder", {{"dim", "16"}, {"heads", "2"}}, {.vocab = 50, .max_tokens = 8, .classes = 3});
  Batch batch;
  batch.size = 1;
  batch.tokens = at::tensor({5, 6, 7}, at::kLong).view({1, 3});
  batch.classes = at::tensor({2}, at::kLong);
  auto state = [] { return at::detail::getDefaultCPUGenerator().get_state(); };
  const at::Tensor before = state();
  const double first = model->Loss(batch, false).loss.item<double>();
  EXPECT_EQ(model->Loss(batch, false).loss.item<double>(), first);
  EXPECT_TRUE(state().equal(before));
  model->Loss(batch, true);
  EXPECT_FALSE(state().equal(before));
}

TEST(Options, ErrorsNameThePathAndTheNearestName) {
  const ModelShape shape{.features = 4, .classes = 3};
  auto message = [&](const std::map<std::string, std::string>& options, const std::string& name = "mlp") {
    return std::string(MakeModel(name, options, shape, 0).status().message());
  };
  EXPECT_EQ(message({{"hiden", "3"}}).find("training.model.options.hiden"), 0U);
  EXPECT_NE(message({{"hiden", "3"}}).find("did you mean 'hidden'?"), std::string::npos);
  EXPECT_NE(message({{"hidden", "12,x"}}).find("12,x"), std::string::npos);
  EXPECT_NE(message({{"hidden", "0"}}).find("from 1"), std::string::npos);
  EXPECT_NE(message({{"dropout", "1"}}).find("below 1"), std::string::npos);
  EXPECT_NE(message({{"dim", "10"}, {"heads", "4"}}, "text-encoder").find("must divide dim"), std::string::npos);
  EXPECT_EQ(message({}, "resnet").find("training.model.name"), 0U);
}

TEST(Dropout, KeepsTheRightShareScaledAndItsGradientUsesTheSameMask) {
  at::manual_seed(3);
  const double p = 0.25;
  at::Tensor x = at::ones({1000000}).set_requires_grad(true);
  const at::Tensor y = Dropout(x, p);
  const at::Tensor kept = y.detach().ne(0);
  // The share kept is binomial: 1e6 draws, standard deviation 433; six of them.
  EXPECT_NEAR(kept.sum().item<double>(), 750000, 6 * 433);
  EXPECT_TRUE(at::allclose(y.detach().masked_select(kept), at::full({1}, 1 / (1 - p))));
  (y * at::full({1}, 3.0)).sum().backward();
  EXPECT_TRUE(at::allclose(x.grad(), y.detach() * 3));
  // Neighbours are independent: the share of kept pairs is (1 - p)^2.
  const at::Tensor pairs = kept.slice(0, 0, -1).logical_and(kept.slice(0, 1));
  EXPECT_NEAR(pairs.sum().item<double>() / 1e6, 0.5625, 0.005);
}

TEST(Dropout, RepeatsWithTheSeedAndDiffersBetweenCalls) {
  const at::Tensor x = at::ones({4096});
  at::manual_seed(5);
  const at::Tensor first = Dropout(x, 0.5);
  const at::Tensor second = Dropout(x, 0.5);
  at::manual_seed(5);
  EXPECT_TRUE(Dropout(x, 0.5).equal(first));
  EXPECT_FALSE(first.equal(second));
}

TEST(Dropout, FusedFormsEqualTheirParts) {
  const at::Tensor residual = at::randn({64, 32});
  at::Tensor x = at::randn({64, 32}).set_requires_grad(true);
  at::manual_seed(9);
  const at::Tensor mask = Dropout(at::ones_like(x), 0.3);  // 0 or 1 / 0.7
  at::manual_seed(9);
  const at::Tensor added = AddDropout(residual, x, 0.3);
  EXPECT_TRUE(at::allclose(added, residual + x.detach() * mask));
  added.sum().backward();
  EXPECT_TRUE(at::allclose(x.grad(), mask));

  x.mutable_grad() = at::Tensor();
  at::manual_seed(9);
  const at::Tensor rectified = ReluDropout(x, 0.3);
  EXPECT_TRUE(at::allclose(rectified, at::relu(x.detach()) * mask));
  rectified.sum().backward();
  EXPECT_TRUE(at::allclose(x.grad(), mask * x.detach().gt(0)));
}

}  // namespace
}  // namespace ddp
