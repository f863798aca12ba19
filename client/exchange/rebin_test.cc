#include "client/exchange/rebin.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <random>

namespace ddp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

int64_t Sum(const v1::Histogram& h) { return std::accumulate(h.counts().begin(), h.counts().end(), int64_t{0}); }

TEST(RebinTest, SixtyFourEqualBinsStayAsTheyAre) {
  std::mt19937 random(1);
  for (const auto& [min, max] : {std::pair(-1.0, 1.0), std::pair(0.1, 0.7), std::pair(-3e-7, 1e9)}) {
    std::vector<Bin> bins;
    std::vector<int64_t> counts;
    for (int i = 0; i < 64; ++i) {
      counts.push_back(random() % 1000000);
      const double width = max / 64 - min / 64;
      bins.push_back({i == 0 ? -1e300 : bins.back().right, i == 63 ? max : min + width * (i + 1),
                      static_cast<double>(counts.back())});
    }
    const auto histogram = Rebin(bins, min, max);
    ASSERT_TRUE(histogram);
    EXPECT_EQ(std::vector<int64_t>(histogram->counts().begin(), histogram->counts().end()), counts);
  }
}

TEST(RebinTest, ValuesLieEvenlyInTheirBin) {
  // 0..64 in two halves: 32 values on 32 bins, and 64 on the other 32.
  const auto histogram = Rebin({{0, 32, 32}, {32, 64, 64}}, 0, 64);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(histogram->counts(i), i < 32 ? 1 : 2) << i;
}

TEST(RebinTest, FewValuesAreRoundedButNoneIsLost) {
  // 3 values over 64 bins: the borders are at 3 i / 64, rounded.
  const auto histogram = Rebin({{0, 1, 3}}, 0, 1);
  EXPECT_EQ(Sum(*histogram), 3);
  EXPECT_EQ(histogram->counts(10), 1);  // 3 * 11 / 64 = 0.516
  EXPECT_EQ(histogram->counts(31), 1);  // 3 * 32 / 64 = 1.5
  EXPECT_EQ(histogram->counts(53), 1);  // 3 * 54 / 64 = 2.53
}

TEST(RebinTest, EqualValues) {
  EXPECT_EQ(Rebin({{5, 5, 7}}, 5, 5)->counts(63), 7);
  // A bin without width falls where its value is: 0.5 begins bin 32, and the largest value is in the last one.
  const auto histogram = Rebin({{0, 0, 1}, {0.5, 0.5, 2}, {1, 1, 4}}, 0, 1);
  EXPECT_EQ(histogram->counts(0), 1);
  EXPECT_EQ(histogram->counts(32), 2);
  EXPECT_EQ(histogram->counts(63), 4);
}

TEST(RebinTest, OuterBinsEndAtTheRange) {
  const auto histogram = Rebin({{-kInfinity, 32, 32}, {32, kInfinity, 32}}, 0, 64);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(histogram->counts(i), 1) << i;
}

TEST(RebinTest, Refusals) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(Rebin({{0, 1, nan}}, 0, 1));
  EXPECT_FALSE(Rebin({{0, 1, -1}}, 0, 1));
  EXPECT_FALSE(Rebin({{0, 1, kInfinity}}, 0, 1));
  EXPECT_FALSE(Rebin({{0, 1, 1}}, nan, 1));
  EXPECT_FALSE(Rebin({{0, 1, 1}}, 1, 0));
  EXPECT_FALSE(Rebin({{1, 0, 1}}, 0, 1));
  EXPECT_FALSE(Rebin({{0, 1, 1}, {0.5, 2, 1}}, 0, 2));
  EXPECT_EQ(Sum(*Rebin({}, 0, 0)), 0);
  EXPECT_EQ(Sum(*Rebin({{-1.7e308, 1.7e308, 64}}, -1.7e308, 1.7e308)), 64);
}

}  // namespace
}  // namespace ddp
