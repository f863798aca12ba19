#include "client/histogram_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ddp {
namespace {

v1::Histogram Four(double min, double max, const std::vector<int64_t>& counts) {
  v1::Histogram histogram;
  histogram.set_series("grad/w");
  histogram.set_step(120);
  histogram.set_min(min);
  histogram.set_max(max);
  histogram.mutable_counts()->Add(counts.begin(), counts.end());
  return histogram;
}

TEST(HistogramTextTest, BarsAreEighthsOfTheLargestCountRoundedUp) {
  // Bins of width 1 with the middles -1.5, -0.5, 0.5, 1.5: (1 * -1.5 + 16 * 0.5 + 5 * 1.5) / 22 = 0.636.
  EXPECT_EQ(HistogramText(Four(-2, 2, {1, 0, 16, 5})),
            "grad/w  step 120  22 values, mean about 0.636\n"
            "          -2 |▁ █▃| 2\n");  // 8 * 1/16 = 0.5, 0, 8, 2.5
}

TEST(HistogramTextTest, EqualValues) {
  v1::Histogram histogram = Four(0.125, 0.125, {0, 0, 0, 1});
  histogram.set_non_finite(2);
  EXPECT_EQ(HistogramText(histogram),
            "grad/w  step 120  1 value, mean about 0.125, 2 not finite\n"
            "       0.125 |   █| 0.125\n");
}

TEST(HistogramTextTest, NothingFinite) {
  v1::Histogram histogram = Four(0, 0, {0, 0, 0, 0});
  histogram.set_non_finite(7);
  EXPECT_EQ(HistogramText(histogram), "grad/w  step 120  no finite value, 7 not finite\n");
  histogram.clear_counts();
  EXPECT_EQ(HistogramText(histogram), "grad/w  step 120  no finite value, 7 not finite\n");
  EXPECT_TRUE(std::isnan(ApproximateMean(histogram)));
}

TEST(HistogramTextTest, HugeCountsAndRangesDoNotOverflow) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max() / 4;
  const std::string text = HistogramText(Four(-2, 2, {kHuge, kHuge / 2, 1, 0}));
  EXPECT_EQ(text.substr(text.find('|')), "|█▄▁ | 2\n");
}

TEST(HistogramTextTest, NamesCannotSteerTheTerminal) {
  v1::Histogram histogram = Four(0, 1, {1});
  histogram.set_series("grad/\x1b[2J");
  EXPECT_EQ(HistogramText(histogram).substr(0, 21), "grad/\\x1B[2J  step 12");
}

}  // namespace
}  // namespace ddp
