#include "server/store/histogram_cap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/store/store_fixture.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;

TEST(HistogramStrideTest, DoublesUntilItFits) {
  EXPECT_EQ(HistogramStride({5}, 1), 0);
  EXPECT_EQ(HistogramStride({10, 20, 30, 40, 50}, 5), 10);
  EXPECT_EQ(HistogramStride({10, 20, 30, 40, 50}, 4), 20);  // 10, 30, 50
  EXPECT_EQ(HistogramStride({10, 20, 30, 40, 50}, 2), 40);  // 10, 50
  EXPECT_EQ(HistogramStride({10, 20, 30, 40, 50}, 1), 80);
  // Thinned before (1, 3, 5) and grown since: evenly again.
  EXPECT_EQ(HistogramStride({1, 3, 5, 6, 7, 8, 9}, 5), 2);  // 1, 3, 5, 7, 9
  EXPECT_EQ(HistogramStride({1, 3, 5, 6, 7, 8, 9}, 3), 4);  // 1, 5, 9
}

class HistogramCapTest : public StoreFixture {
 protected:
  // Each step of first, first + every, ... last, of two series.
  void Add(int64_t first, int64_t last, int64_t every, int attempt = 1, int64_t start_step = 0) {
    HistogramBatch histograms{attempt, start_step, {}};
    for (int64_t step = first; step <= last; step += every) {
      for (const char* series : {"grad/w", "param/w"}) {
        v1::Histogram& histogram = histograms.histograms.emplace_back();
        histogram.set_series(series);
        histogram.set_step(step);
      }
    }
    WriteBatch batch;
    batch.AddHistograms(kJob, std::move(histograms));
    ASSERT_TRUE(store_->CommitAndWait(std::move(batch)).ok());
  }
  std::vector<int64_t> Steps(const std::string& series = "grad/w") {
    std::vector<int64_t> steps;
    const auto keys = store_->reader().HistogramKeys(kJob, series, 0, int64_t{1} << 60);
    for (const HistogramKey& key : *keys) steps.push_back(key.step);
    return steps;
  }
  static std::vector<int64_t> Range(int64_t first, int64_t last, int64_t every) {
    std::vector<int64_t> steps;
    for (int64_t step = first; step <= last; step += every) steps.push_back(step);
    return steps;
  }
};

TEST_F(HistogramCapTest, HalfOfThemStaysEvenlySpaced) {
  Add(10, 500'000, 10);
  EXPECT_EQ(Steps().size(), 50'000u);  // of two series: 100,000, and not one too many
  Add(500'010, 500'010, 10);
  EXPECT_EQ(Steps(), Range(10, 500'010, 20));
  EXPECT_EQ(Steps().size(), 25'001u);
  EXPECT_EQ(Steps("param/w"), Steps());
  // What follows is dense until they are 100,002 again, also for a daemon that has been started anew.
  Add(500'020, 700'000, 10);
  Open();
  Add(700'010, 750'000, 10);
  EXPECT_EQ(Steps().size(), 25'001u + 24'999u);
  Add(750'010, 750'010, 10);
  // 20 is too dense for 25,001 of them.
  EXPECT_EQ(Steps(), Range(10, 750'010, 40));
  EXPECT_EQ(Steps().size(), 18'751u);
}

TEST_F(HistogramCapTest, TheNewestStays) {
  Add(1, 50'002, 1);
  std::vector<int64_t> right = Range(1, 50'001, 2);
  right.push_back(50'002);
  EXPECT_EQ(Steps(), right);
}

TEST_F(HistogramCapTest, WhatIsSupersededGoesFirst) {
  Add(1, 49'999, 1);
  Add(11, 12, 1, /*attempt=*/2, /*start_step=*/10);  // 100,002 rows, of which 24 can be read
  EXPECT_THAT(Steps(), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
  // Nothing but those was deleted: no step is missing, and there is room for 99,976 more.
  Add(13, 50'000, 1, 2, 10);
  EXPECT_EQ(Steps().size(), 50'000u);
}

TEST_F(HistogramCapTest, ReportedAgainIsNotMore) {
  for (int i = 0; i < 3; ++i) Add(1, 40'000, 1);
  EXPECT_EQ(Steps().size(), 40'000u);
}

}  // namespace
}  // namespace ddp
