#include "server/metrics/keep_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace ddp {
namespace {

using ::testing::ElementsAre;

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(KeepShapeTest, FewStayAll) {
  EXPECT_THAT(KeepShape({}, 5), ElementsAre());
  EXPECT_THAT(KeepShape({1, 1, 1, 1, 1}, 5), ElementsAre(0, 1, 2, 3, 4));
}

TEST(KeepShapeTest, EachBucketKeepsItsEndsExtremesAndWhatIsNotFinite) {
  // Two buckets of 7.
  const std::vector<double> values = {5, 5, 9, 1, 9, 1, 5, 2, std::nan(""), kInf, 2, 3, 2, -kInf};
  EXPECT_THAT(KeepShape(values, 10), ElementsAre(0, 2, 3, 6, 7, 8, 11, 13));
}

TEST(KeepShapeTest, NeverMoreThanTheLimitAndTheExtremesOfAllAreKept) {
  std::vector<double> values;
  for (int i = 0; i < 100'003; ++i) values.push_back(i % 31 == 7 ? kInf : std::sin(i * 0.7) * i);
  values[50'001] = 1e9;
  values[50'003] = -1e9;
  const std::vector<size_t> kept = KeepShape(values, 10'000);
  EXPECT_LE(kept.size(), 10'000u);
  EXPECT_GT(kept.size(), 8'000u);
  EXPECT_EQ(kept.front(), 0u);
  EXPECT_EQ(kept.back(), 100'002u);
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  EXPECT_TRUE(std::binary_search(kept.begin(), kept.end(), 50'001u));
  EXPECT_TRUE(std::binary_search(kept.begin(), kept.end(), 50'003u));
}

TEST(KeepShapeTest, BucketsWithoutFiniteValues) {
  EXPECT_THAT(KeepShape(std::vector<double>(8, kInf), 5), ElementsAre(0, 7));
}

}  // namespace
}  // namespace ddp
