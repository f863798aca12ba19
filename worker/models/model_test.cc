#include "worker/models/model.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "worker/models/chunked_cross_entropy.h"
#include "worker/models/convolution.h"
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

// The loss, which tests of the parity with Python check, is the cross entropy of the logits.
TEST(TextEncoder, LogitsAreThoseOfTheLoss) {
  at::NoGradGuard no_grad;
  const std::map<std::string, std::string> options{{"dim", "16"}, {"heads", "2"}};
  Batch batch;
  batch.size = 2;
  batch.tokens = at::tensor({5, 2, 7, 0, 0, 8, 2, 10, 11, 2}, at::kLong).view({2, 5});
  batch.mask = batch.tokens.ne(0);
  batch.classes = at::tensor({2, 0}, at::kLong);
  batch.predict_at = at::tensor({1, 6, 9}, at::kLong);
  batch.targets = at::tensor({6, 30, 49}, at::kLong);
  const auto check = [&](Objective objective, const at::Tensor& targets, int64_t width) {
    auto model = Make("text-encoder", options, {.objective = objective, .vocab = 50, .max_tokens = 8, .classes = 3});
    const at::Tensor logits = model->Logits(batch);
    EXPECT_EQ(logits.sizes(), (at::IntArrayRef{targets.size(0), width}));
    const double loss = at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum).item<double>();
    EXPECT_NEAR(model->Loss(batch, false).loss.item<double>(), loss, 1e-4);
  };
  check(Objective::kClassification, batch.classes, 3);
  check(Objective::kMlm, batch.targets, 50);
  EXPECT_FALSE(Make("text-encoder", options, {.objective = Objective::kEmbedding, .vocab = 50, .max_tokens = 8})
                   ->Logits(batch)
                   .defined());
}

// By hand: with nothing added by the layer, h is the layer norm of the token's embedding, (-1, 1) of (0, 4); the head
// makes (-0.5, 1) of it. The hidden token's embedding (3, 1) is (1, -1) as a target. ((-1.5)^2 + 2^2) / 2 = 3.125.
TEST(TextEncoder, EmbeddingLossByHand) {
  auto model = Make("text-encoder", {{"dim", "2"}, {"heads", "1"}, {"layers", "1"}},
                    {.objective = Objective::kEmbedding, .vocab = 3, .max_tokens = 2});
  const std::map<std::string, at::Tensor> values{
      {"embedding.weight", at::tensor({9.F, 7.F, 3.F, 1.F, 0.F, 4.F}).view({3, 2})},
      {"encoder.norm.weight", at::ones({2})},
      {"embedding_head.weight", at::eye(2)},
      {"embedding_head.bias", at::tensor({0.5F, 0.F})}};
  for (const auto& [name, parameter] : model->parameters()) {
    const auto found = values.find(name);
    parameter.detach().copy_(found == values.end() ? at::zeros_like(parameter) : found->second);
  }
  Batch batch;
  batch.size = 1;
  batch.tokens = at::tensor({1, 2}, at::kLong).view({1, 2});
  batch.predict_at = at::tensor({1}, at::kLong);
  batch.targets = at::tensor({1}, at::kLong);
  const LossSums sums = model->Loss(batch, false);
  EXPECT_EQ(sums.count, 1);
  EXPECT_NEAR(sums.loss.item<double>(), 3.125, 1e-4);
  sums.loss.backward();
  for (const auto& [name, parameter] : model->parameters()) {
    if (name == "embedding.weight") {  // as a target, token 1 is not trained; as a neighbour, it adds nothing here
      EXPECT_TRUE(parameter.grad()[1].eq(0).all().item<bool>());
    } else if (name == "embedding_head.bias") {  // 2 (prediction - target) / 2
      EXPECT_TRUE(at::allclose(parameter.grad(), at::tensor({-1.5F, 2.F}), 1e-4));
    }
  }
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
  // All models that are for people.
  EXPECT_NE(message({}, "x").find("There are: text-encoder, gpt, convnet, resnet18, mlp"), std::string::npos);
  EXPECT_EQ(message({}, "x").find("rig-"), std::string::npos);
  EXPECT_NE(message({{"stem", "big"}}, "resnet18").find("training.model.options.stem: must be one of imagenet, small"),
            std::string::npos);
  // The features are no images.
  for (const std::string name : {"convnet", "resnet18"}) {
    EXPECT_EQ(message({}, name).find("training.data.image_shape: "), 0U) << name;
  }
}

TEST(Options, ContextMustHoldTheTokens) {
  const ModelShape shape{.objective = Objective::kClm, .vocab = 10, .max_tokens = 8};
  const auto refused = MakeModel("gpt", {{"context", "7"}}, shape, 0);
  EXPECT_EQ(std::string(refused.status().message()).find("training.model.options.context: 7"), 0U);
  const ModelShape mlm{.objective = Objective::kMlm, .vocab = 10, .max_tokens = 8};
  EXPECT_NE(std::string(MakeModel("gpt", {}, mlm, 0).status().message()).find("it can with clm, classification"),
            std::string::npos);
}

// GPT-2's: 0.02, and what ends in the residual stream divided by the root of twice the layers. The standard deviation
// of n samples has an error of std / sqrt(2 n); five of them.
TEST(Gpt, InitialValues) {
  auto model =
      Make("gpt", {{"dim", "64"}, {"layers", "8"}}, {.objective = Objective::kClm, .vocab = 500, .max_tokens = 32});
  for (const auto& [name, tensor] : model->parameters()) {
    if (tensor.dim() == 1) {
      EXPECT_TRUE(
          tensor.eq(name.find("ln_") != std::string::npos && name.ends_with("weight") ? 1 : 0).all().item<bool>())
          << name;
      continue;
    }
    const double std = name.ends_with("c_proj.weight") ? 0.02 / 4 : 0.02;
    const double error = 5 * std / std::sqrt(2.0 * static_cast<double>(tensor.numel()));
    EXPECT_NEAR(tensor.detach().std().item<double>(), std, error) << name;
  }
}

// A text of one token has nothing to predict: no loss, and gradients that are there and 0, since every rank must
// reduce every parameter.
TEST(Gpt, NothingToPredict) {
  auto model =
      Make("gpt", {{"dim", "8"}, {"layers", "1"}}, {.objective = Objective::kClm, .vocab = 20, .max_tokens = 4});
  Batch batch;
  batch.size = 2;
  batch.tokens = at::tensor({5, 6}, at::kLong).view({2, 1});
  batch.predict_at = at::empty({0}, at::kLong);
  batch.targets = at::empty({0}, at::kLong);
  const LossSums sums = model->Loss(batch, true);
  EXPECT_EQ(sums.count, 0);
  EXPECT_EQ(sums.loss.item<double>(), 0);
  sums.loss.backward();
  for (const auto& [name, tensor] : model->parameters()) {
    ASSERT_TRUE(tensor.grad().defined()) << name;
    EXPECT_EQ(tensor.grad().abs().max().item<double>(), 0) << name;
  }
}

// Against plain autograd, in one piece, in pieces that do not divide the rows, and with a factor from outside.
TEST(ChunkedCrossEntropy, IsCrossEntropy) {
  at::manual_seed(4);
  const at::Tensor h = at::randn({10, 6}).set_requires_grad(true);
  const at::Tensor weight = at::randn({17, 6}).set_requires_grad(true);
  const at::Tensor targets = at::randint(17, {10}, at::kLong);
  const at::Tensor bias = at::randn({17}).set_requires_grad(true);
  const LossSums right = ClassificationSums(at::linear(h, weight, bias), targets);
  (right.loss * 3).backward();
  const at::Tensor h_grad = h.grad().clone();
  const at::Tensor weight_grad = weight.grad().clone();
  const at::Tensor bias_grad = bias.grad().clone();
  for (const int64_t chunk : {0, 1, 4, 10}) {
    h.mutable_grad() = at::Tensor();
    weight.mutable_grad() = at::Tensor();
    bias.mutable_grad() = at::Tensor();
    const LossSums sums = ChunkedCrossEntropy(h, weight, bias, targets, chunk);
    EXPECT_NEAR(sums.loss.item<double>(), right.loss.item<double>(), 1e-4);
    EXPECT_EQ(sums.correct.item<int64_t>(), right.correct.item<int64_t>());
    EXPECT_EQ(sums.count, 10);
    (sums.loss * 3).backward();
    EXPECT_TRUE(at::allclose(h.grad(), h_grad, 1e-4, 1e-5)) << chunk;
    EXPECT_TRUE(at::allclose(weight.grad(), weight_grad, 1e-4, 1e-5)) << chunk;
    EXPECT_TRUE(at::allclose(bias.grad(), bias_grad, 1e-4, 1e-5)) << chunk;
  }
}

TEST(ChunkedCrossEntropy, FrozenWeightsAndEvaluation) {
  const at::Tensor h = at::randn({3, 4}).set_requires_grad(true);
  const at::Tensor weight = at::randn({5, 4});
  const at::Tensor targets = at::tensor({0, 4, 2}, at::kLong);
  ChunkedCrossEntropy(h, weight, {}, targets).loss.backward();
  EXPECT_TRUE(h.grad().defined());
  at::NoGradGuard no_grad;
  EXPECT_FALSE(ChunkedCrossEntropy(h, weight, {}, targets).loss.requires_grad());
}

// Case A11: an image of 17x17 ends as 1x1, so a micro-batch of one has one value a channel in the last stage. torch
// refuses that; here the running statistics stand in, and stay as they are.
TEST(Resnet18, OneValueAChannelTakesTheRunningStatistics) {
  auto model = Make("resnet18", {{"stem", "imagenet"}},
                    {.features = 17 * 17, .classes = 3, .channels = 1, .height = 17, .width = 17});
  Batch batch;
  batch.size = 1;
  batch.features = at::randn({1, 17 * 17});
  batch.classes = at::tensor({1}, at::kLong);
  const LossSums sums = model->Loss(batch, true);
  sums.loss.backward();
  EXPECT_TRUE(std::isfinite(sums.loss.item<double>()));
  bool moved = false;
  for (const auto& [name, buffer] : model->buffers()) {
    EXPECT_TRUE(buffer.isfinite().all().item<bool>()) << name;
    if (name == "bn1.running_mean") moved = buffer.ne(0).any().item<bool>();
    if (name == "layer4.1.bn2.running_mean") {
      EXPECT_TRUE(buffer.eq(0).all().item<bool>());
    }
    if (name == "layer4.1.bn2.running_var") {
      EXPECT_TRUE(buffer.eq(1).all().item<bool>());
    }
  }
  EXPECT_TRUE(moved);
}

// Against at::conv2d on its own memory format, on both sides of the rule: image, stride, kernel, channels.
TEST(Convolve, EqualsTorch) {
  struct Case {
    int64_t in, out, height, width, k, stride;
    bool bias;
  };
  for (const Case& c : {Case{256, 3, 4, 4, 3, 1, true}, Case{300, 5, 7, 8, 3, 2, false},
                        Case{256, 4, 3, 5, 5, 1, false}, Case{256, 4, 1, 1, 3, 1, false}, Case{8, 4, 4, 4, 3, 1, true},
                        Case{256, 4, 8, 8, 3, 1, false}, Case{256, 4, 4, 4, 1, 2, false}}) {
    const auto leaf = [](const at::Tensor& values) { return values.clone().set_requires_grad(true); };
    const at::Tensor image = at::randn({2, c.in, c.height, c.width});
    const at::Tensor kernel = at::randn({c.out, c.in, c.k, c.k});
    const at::Tensor shift = c.bias ? at::randn({c.out}) : at::Tensor();
    const at::Tensor x = leaf(image.contiguous(at::MemoryFormat::ChannelsLast));
    const at::Tensor weight = leaf(KernelInit(kernel));
    const at::Tensor y = Convolve(x, weight, shift, c.stride);
    const at::Tensor right_x = leaf(image.to(at::kDouble));
    const at::Tensor right_weight = leaf(kernel.to(at::kDouble));
    const at::Tensor right = at::conv2d(right_x, right_weight, c.bias ? shift.to(at::kDouble) : shift,
                                        {c.stride, c.stride}, {c.k / 2, c.k / 2});
    ASSERT_EQ(y.sizes(), right.sizes());
    const at::Tensor gradient = at::randn(y.sizes());
    y.backward(gradient);
    right.backward(gradient.to(at::kDouble));
    const auto near = [&](const at::Tensor& a, const at::Tensor& b) {
      return (a - b).abs().max().item<double>() <= 1e-5 * b.abs().max().item<double>();
    };
    const std::string name =
        absl::StrCat(c.in, " channels, ", c.height, "x", c.width, ", k ", c.k, ", stride ", c.stride);
    EXPECT_TRUE(near(y.detach(), right.detach())) << name;
    EXPECT_TRUE(near(x.grad(), right_x.grad())) << name;
    EXPECT_TRUE(near(weight.grad(), right_weight.grad())) << name;
    EXPECT_TRUE(weight.grad().is_contiguous(at::MemoryFormat::ChannelsLast)) << name;
  }
}

TEST(Resnet18, TheStemFitsTheImage) {
  const auto kernel = [](int64_t side) {
    auto model =
        Make("resnet18", {}, {.features = side * side, .classes = 2, .channels = 1, .height = side, .width = side});
    return model->parameters()[0].second.size(2);
  };
  EXPECT_EQ(kernel(64), 3);
  EXPECT_EQ(kernel(65), 7);
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
