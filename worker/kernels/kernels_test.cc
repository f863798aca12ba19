// Against the formulas in double precision, for sizes that do and do not fill vectors, on every instruction set that
// the machine has.
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "worker/kernels/attention.h"
#include "worker/kernels/cross_entropy.h"
#include "worker/kernels/dropout_loops.h"
#include "worker/kernels/stream_copy.h"

namespace ddp {
namespace {

std::vector<float> Normal(size_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& v : values) v = normal(generator);
  return values;
}

float ToFloat(Bf16 x) {
  const uint32_t bits = uint32_t{x.bits} << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// To the nearest, ties to even, in its own way.
Bf16 ToBf16(float x) {
  uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof(bits));
  const uint32_t rest = bits & 0xffff;
  uint32_t upper = bits >> 16;
  if (rest > 0x8000 || (rest == 0x8000 && (upper & 1) == 1)) ++upper;
  return {static_cast<uint16_t>(upper)};
}

std::vector<Bf16> ToBf16(const std::vector<float>& values) {
  std::vector<Bf16> out;
  for (const float v : values) out.push_back(ToBf16(v));
  return out;
}

double Keeps(const Fate& fate, uint32_t i) {
  uint32_t x = (i ^ fate.low) + fate.high;
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  x ^= x >> 16;
  return x >= fate.threshold ? fate.scale : 0.0;
}

const Fate kHalf{.low = 0x12345678, .high = 0x9abcdef0, .threshold = 0x80000000U, .scale = 2};

// Every test, for each instruction set.
class KernelsTest : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

std::vector<int64_t> Targets() {
  std::vector<int64_t> targets;
  for (int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1)
    targets.push_back(rest & -rest);
  return targets;
}
INSTANTIATE_TEST_SUITE_P(EachTarget, KernelsTest, testing::ValuesIn(Targets()),
                         [](const auto& info) { return std::string(hwy::TargetName(info.param)); });

TEST_P(KernelsTest, DropoutDropsWhatTheHashSays) {
  for (const size_t n : {1u, 15u, 16u, 33u, 1000u}) {
    const std::vector<float> x = Normal(n, 1);
    const std::vector<float> other = Normal(n, 2);
    std::vector<float> drop(n), add(n), relu(n), back(n);
    DropLoop(x.data(), drop.data(), n, kHalf, 7);
    AddDropLoop(other.data(), x.data(), add.data(), n, kHalf, 7);
    ReluDropLoop(x.data(), relu.data(), n, kHalf, 7);
    ReluDropBackwardLoop(other.data(), relu.data(), back.data(), n, kHalf);
    for (size_t i = 0; i < n; ++i) {
      const double f = Keeps(kHalf, static_cast<uint32_t>(7 + i));
      EXPECT_EQ(drop[i], static_cast<float>(x[i] * f)) << i;
      EXPECT_EQ(add[i], static_cast<float>(other[i] + x[i] * f)) << i;
      EXPECT_EQ(relu[i], static_cast<float>(std::max(x[i], 0.0F) * f)) << i;
      EXPECT_EQ(back[i], x[i] > 0 && f > 0 ? other[i] * 2 : 0) << i;
    }
  }
}

TEST_P(KernelsTest, DropoutOfBfloat16) {
  const size_t n = 37;
  const std::vector<float> values = Normal(n, 1);
  const std::vector<float> other = Normal(n, 2);
  const std::vector<Bf16> x = ToBf16(values);
  const std::vector<Bf16> gradient = ToBf16(other);
  std::vector<Bf16> drop(n), relu(n), back(n);
  std::vector<float> add(n);
  DropLoop(values.data(), drop.data(), n, kHalf, 0);
  AddDropLoop(other.data(), x.data(), add.data(), n, kHalf, 0);
  ReluDropLoop(x.data(), relu.data(), n, kHalf, 0);
  ReluDropBackwardLoop(gradient.data(), relu.data(), back.data(), n, kHalf);
  for (size_t i = 0; i < n; ++i) {
    const auto f = static_cast<float>(Keeps(kHalf, static_cast<uint32_t>(i)));
    EXPECT_EQ(drop[i].bits, ToBf16(values[i] * f).bits) << i;
    EXPECT_EQ(add[i], other[i] + ToFloat(x[i]) * f) << i;
    EXPECT_EQ(relu[i].bits & 0x7fff, ToBf16(std::max(ToFloat(x[i]), 0.0F) * f).bits) << i;
    EXPECT_EQ(ToFloat(back[i]), ToFloat(x[i]) > 0 && f > 0 ? ToFloat(gradient[i]) * 2 : 0) << i;
  }
}

TEST_P(KernelsTest, ReluKeepsNan) {
  const float x[] = {std::numeric_limits<float>::quiet_NaN(), -1};
  float out[2];
  ReluDropLoop(x, out, 2, Fate{}, 0);
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_EQ(out[1], 0);
}

TEST_P(KernelsTest, CrossEntropyOfARow) {
  for (const size_t n : {1u, 5u, 16u, 100u, 1003u}) {
    for (const bool with_bias : {false, true}) {
      std::vector<float> x = Normal(n, 3);
      for (float& v : x) v *= 5;
      const std::vector<float> bias = with_bias ? Normal(n, 4) : std::vector<float>(n, 0.0F);
      const std::vector<float> before = x;
      const size_t target = n / 2;
      std::vector<float> bias_gradient(n, 1.0F), scratch(n);
      float loss = 0;
      bool correct = false;
      CrossEntropyRow(x.data(), with_bias ? bias.data() : nullptr, n, target, true, bias_gradient.data(),
                      scratch.data(), &loss, &correct);
      double sum = 0;
      size_t largest = 0;
      for (size_t i = 0; i < n; ++i) {
        sum += std::exp(double{before[i] + bias[i]});
        if (before[i] + bias[i] > before[largest] + bias[largest]) largest = i;
      }
      EXPECT_NEAR(loss, std::log(sum) - double{before[target] + bias[target]}, 2e-5);
      EXPECT_EQ(correct, largest == target);
      for (size_t i = 0; i < n; ++i) {
        const double right = std::exp(double{before[i] + bias[i]}) / sum - (i == target ? 1 : 0);
        EXPECT_NEAR(x[i], right, 3e-6) << i;
        EXPECT_NEAR(bias_gradient[i], 1 + right, 3e-6) << i;
      }
    }
  }
}

TEST_P(KernelsTest, CrossEntropyOfEqualsNanAndFarLogits) {
  std::vector<float> scratch(20);
  float loss = 0;
  bool correct = false;
  // All equal: log n, and only the first is the largest.
  for (const size_t target : {0u, 19u}) {
    std::vector<float> x(20, 3.0F);
    CrossEntropyRow(x.data(), nullptr, 20, target, false, nullptr, scratch.data(), &loss, &correct);
    EXPECT_FLOAT_EQ(loss, std::log(20.0F));
    EXPECT_EQ(correct, target == 0);
  }
  std::vector<float> far(20, -1000.0F);
  far[3] = 1000;
  CrossEntropyRow(far.data(), nullptr, 20, 4, true, nullptr, scratch.data(), &loss, &correct);
  EXPECT_EQ(loss, 2000);
  EXPECT_EQ(far[3], 1);
  EXPECT_EQ(far[4], -1);
  EXPECT_EQ(far[5], 0);
  for (const size_t at : {2u, 18u}) {  // in a whole vector of 4, 8 or 16, and behind them
    std::vector<float> x(20, 1.0F);
    x[at] = std::numeric_limits<float>::quiet_NaN();
    CrossEntropyRow(x.data(), nullptr, 20, 0, true, nullptr, scratch.data(), &loss, &correct);
    EXPECT_TRUE(std::isnan(loss)) << at;
  }
}

TEST_P(KernelsTest, CrossEntropyOfBfloat16) {
  const size_t n = 103;
  const std::vector<Bf16> before = ToBf16(Normal(n, 5));
  std::vector<Bf16> x = before;
  std::vector<float> scratch(n);
  float loss = 0;
  bool correct = false;
  CrossEntropyRow(x.data(), nullptr, n, 7, true, nullptr, scratch.data(), &loss, &correct);
  double sum = 0;
  for (const Bf16 v : before) sum += std::exp(double{ToFloat(v)});
  EXPECT_NEAR(loss, std::log(sum) - ToFloat(before[7]), 1e-5);
  for (size_t i = 0; i < n; ++i) {
    const double right = std::exp(double{ToFloat(before[i])}) / sum - (i == 7 ? 1 : 0);
    EXPECT_NEAR(ToFloat(x[i]), right, std::abs(right) / 256) << i;
  }
}

// Attention by the formula, in double precision; gradients by the chain rule on the same.
struct Reference {
  std::vector<double> out, gradient;
};
Reference Formula(const std::vector<float>& qkv, const std::vector<int64_t>& lengths, const AttentionShape& s,
                  const Fate& fate, const std::vector<float>& out_gradient) {
  const size_t texts = lengths.size(), width = s.heads * s.head_dim;
  Reference r{std::vector<double>(texts * s.len * width), std::vector<double>(texts * s.len * 3 * width)};
  const double scale = 1 / std::sqrt(static_cast<double>(s.head_dim));
  for (size_t t = 0; t < texts; ++t) {
    const auto len = static_cast<size_t>(lengths[t]);
    for (size_t h = 0; h < s.heads; ++h) {
      const auto at = [&](size_t i, size_t part, size_t c) {
        return ((t * s.len + i) * 3 + part) * width + h * s.head_dim + c;
      };
      const auto out_at = [&](size_t i, size_t c) { return (t * s.len + i) * width + h * s.head_dim + c; };
      for (size_t i = 0; i < len; ++i) {
        std::vector<double> p(len), f(len), dp(len);
        double sum = 0, mean = 0;
        for (size_t j = 0; j < len; ++j) {
          double dot = 0;
          for (size_t c = 0; c < s.head_dim; ++c) dot += double{qkv[at(i, 0, c)]} * qkv[at(j, 1, c)];
          p[j] = std::exp(dot * scale);
          sum += p[j];
          f[j] = Keeps(fate, static_cast<uint32_t>(((t * s.heads + h) * s.len + i) * kLongestShortText + j));
        }
        for (size_t j = 0; j < len; ++j) {
          p[j] /= sum;
          for (size_t c = 0; c < s.head_dim; ++c) {
            r.out[out_at(i, c)] += p[j] * f[j] * qkv[at(j, 2, c)];
            dp[j] += double{out_gradient[out_at(i, c)]} * qkv[at(j, 2, c)] * f[j];
            r.gradient[at(j, 2, c)] += p[j] * f[j] * out_gradient[out_at(i, c)];
          }
          mean += p[j] * dp[j];
        }
        for (size_t j = 0; j < len; ++j) {
          const double ds = p[j] * (dp[j] - mean) * scale;
          for (size_t c = 0; c < s.head_dim; ++c) {
            r.gradient[at(i, 0, c)] += ds * qkv[at(j, 1, c)];
            r.gradient[at(j, 1, c)] += ds * qkv[at(i, 0, c)];
          }
        }
      }
    }
  }
  return r;
}

TEST_P(KernelsTest, AttentionOfShortTexts) {
  for (const AttentionShape shape : {AttentionShape{.len = 1, .heads = 1, .head_dim = 16},
                                     {.len = 12, .heads = 4, .head_dim = 32},
                                     {.len = 17, .heads = 2, .head_dim = 48},
                                     {.len = 64, .heads = 1, .head_dim = 128}}) {
    ASSERT_TRUE(IsShort(shape));
    const auto full = static_cast<int64_t>(shape.len);
    const std::vector<int64_t> lengths{full, std::max<int64_t>(1, full / 2), full};  // long, short, long
    const size_t width = shape.heads * shape.head_dim;
    const size_t tokens = lengths.size() * shape.len;
    const std::vector<float> qkv = Normal(tokens * 3 * width, 6);
    const std::vector<float> out_gradient = Normal(tokens * width, 7);
    for (const Fate& fate : {Fate{}, kHalf}) {
      const Reference right = Formula(qkv, lengths, shape, fate, out_gradient);
      std::vector<float> out(tokens * width, -9), gradient(tokens * 3 * width, -9);
      // In two parts, as threads do it.
      AttendShort(qkv.data(), lengths.data(), shape, fate, 0, 1, out.data());
      AttendShort(qkv.data(), lengths.data(), shape, fate, 1, 3, out.data());
      AttendShortBackward(qkv.data(), lengths.data(), shape, fate, 0, 3, out_gradient.data(), gradient.data());
      for (size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], right.out[i], 2e-5) << shape.len << " " << i;
      for (size_t i = 0; i < gradient.size(); ++i) {
        ASSERT_NEAR(gradient[i], right.gradient[i], 1e-4) << shape.len << " " << i;
      }
    }
  }
  EXPECT_FALSE(IsShort({.len = 65, .heads = 1, .head_dim = 16}));
  EXPECT_FALSE(IsShort({.len = 12, .heads = 1, .head_dim = 24}));
  EXPECT_FALSE(IsShort({.len = 12, .heads = 1, .head_dim = 144}));
}

TEST_P(KernelsTest, AttentionKeepsNan) {
  const AttentionShape shape{.len = 3, .heads = 1, .head_dim = 16};
  std::vector<float> qkv(3 * 3 * 16, 1.0F), out(3 * 16);
  qkv[0] = std::numeric_limits<float>::quiet_NaN();  // a query
  AttendShort(qkv.data(), nullptr, shape, Fate{}, 0, 1, out.data());
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_EQ(out[16], 1);
}

TEST_P(KernelsTest, AttentionOfBfloat16) {
  const AttentionShape shape{.len = 9, .heads = 2, .head_dim = 32};
  const std::vector<Bf16> qkv = ToBf16(Normal(2 * 9 * 3 * 64, 8));
  const std::vector<Bf16> out_gradient = ToBf16(Normal(2 * 9 * 64, 9));
  std::vector<float> qkv_values, gradient_values;
  for (const Bf16 v : qkv) qkv_values.push_back(ToFloat(v));
  for (const Bf16 v : out_gradient) gradient_values.push_back(ToFloat(v));
  const Reference right = Formula(qkv_values, {9, 9}, shape, kHalf, gradient_values);
  std::vector<Bf16> out(out_gradient.size()), gradient(qkv.size());
  AttendShort(qkv.data(), nullptr, shape, kHalf, 0, 2, out.data());
  AttendShortBackward(qkv.data(), nullptr, shape, kHalf, 0, 2, out_gradient.data(), gradient.data());
  // Eight significant bits: an error of at most 2^-8 of the value.
  for (size_t i = 0; i < out.size(); ++i) {
    ASSERT_NEAR(ToFloat(out[i]), right.out[i], std::abs(right.out[i]) / 256 + 1e-5) << i;
  }
  for (size_t i = 0; i < gradient.size(); ++i) {
    ASSERT_NEAR(ToFloat(gradient[i]), right.gradient[i], std::abs(right.gradient[i]) / 256 + 1e-4) << i;
  }
}

// All of it and nothing beside it, wherever it begins.
TEST_P(KernelsTest, StreamCopyOfAnyPlaceAndSize) {
  std::vector<unsigned char> from(1000);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(1 + i % 251);
  for (const size_t begin : {0, 1, 63, 64, 65}) {
    for (const size_t bytes : {0, 1, 15, 64, 127, 128, 700}) {
      std::vector<unsigned char> to(1000), right(1000);
      for (size_t i = 0; i < bytes; ++i) right[begin + i] = from[3 + i];
      StreamCopy(from.data() + 3, to.data() + begin, bytes);
      ASSERT_EQ(to, right) << begin << " " << bytes;
    }
  }
  StreamCopy(nullptr, nullptr, 0);
}

}  // namespace
}  // namespace ddp
