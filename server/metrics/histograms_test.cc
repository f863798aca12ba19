#include "server/metrics/histograms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/store/store_fixture.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ThinOutTest, EvenlyWithBothEnds) {
  EXPECT_THAT(ThinOut(0, 3), ElementsAre());
  EXPECT_THAT(ThinOut(3, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(ThinOut(4, 3), ElementsAre(0, 1, 3));  // 3 * {0, 1/2, 1}, rounded down
  EXPECT_THAT(ThinOut(101, 5), ElementsAre(0, 25, 50, 75, 100));
  EXPECT_THAT(ThinOut(7, 2), ElementsAre(0, 6));
  EXPECT_THAT(ThinOut(7, 1), ElementsAre(6));
}

class HistogramsTest : public StoreFixture {
 protected:
  void Add(int32_t attempt, int64_t start_step, const std::string& series, int64_t step) {
    HistogramBatch batch{attempt, start_step, {}};
    v1::Histogram& histogram = batch.histograms.emplace_back();
    histogram.set_series(series);
    histogram.set_step(step);
    histogram.set_min(-attempt);
    histogram.set_max(static_cast<double>(step));
    histogram.add_counts(5);
    WriteBatch writes;
    writes.AddHistograms(kJob, std::move(batch));
    ASSERT_TRUE(store_->CommitAndWait(std::move(writes)).ok());
  }
  absl::StatusOr<v1::QueryHistogramsResponse> Query(v1::QueryHistogramsRequest request,
                                                    size_t max_bytes = kMaxHistogramBytes) {
    request.set_job_id(kJob);
    return QueryHistograms(store_->reader(), request, max_bytes);
  }
  // "series step attempt"
  static std::vector<std::string> Names(const v1::QueryHistogramsResponse& response) {
    std::vector<std::string> names;
    for (const v1::Histogram& h : response.histograms()) {
      names.push_back(h.series() + " " + std::to_string(h.step()) + " " + std::to_string(static_cast<int>(-h.min())));
    }
    return names;
  }
};

TEST_F(HistogramsTest, TheMergedViewBySeriesAndStep) {
  for (const int64_t step : {10, 20, 30}) {
    Add(1, 0, "param/w", step);
    Add(1, 0, "grad/w", step);
  }
  Add(2, 20, "grad/w", 30);
  Add(2, 20, "grad/w", 40);
  EXPECT_THAT(Names(*Query({})),
              ElementsAre("grad/w 10 1", "grad/w 20 1", "grad/w 30 2", "grad/w 40 2", "param/w 10 1", "param/w 20 1"));
  v1::QueryHistogramsRequest request;
  request.add_series("grad/w");
  request.add_series("grad/none");
  request.set_from_step(20);
  request.set_to_step(30);
  EXPECT_THAT(Names(*Query(request)), ElementsAre("grad/w 20 1", "grad/w 30 2"));
  // An attempt that goes on from its start step may report that step once more.
  Add(3, 40, "grad/w", 40);
  request.set_to_step(0);
  EXPECT_THAT(Names(*Query(request)), ElementsAre("grad/w 20 1", "grad/w 30 2", "grad/w 40 3"));
}

TEST_F(HistogramsTest, ThinnedOutToMaxSteps) {
  for (int64_t step = 1; step <= 201; ++step) Add(1, 0, "p", step);
  v1::QueryHistogramsRequest request;
  request.set_max_steps(3);
  EXPECT_THAT(Names(*Query(request)), ElementsAre("p 1 1", "p 101 1", "p 201 1"));
  request.set_max_steps(1);
  request.set_to_step(150);
  EXPECT_THAT(Names(*Query(request)), ElementsAre("p 150 1"));  // the newest of the range
  EXPECT_EQ(Query({})->histograms_size(), 200);
  request = {};
  request.set_max_steps(kMaxHistogramSteps);
  EXPECT_EQ(Query(request)->histograms_size(), 201);
}

TEST_F(HistogramsTest, WrongRequestsNameTheField) {
  v1::QueryHistogramsRequest request;
  request.set_max_steps(kMaxHistogramSteps + 1);
  EXPECT_THAT(std::string(Query(request).status().message()), HasSubstr("max_steps is 10001"));
  request.set_max_steps(-1);
  EXPECT_EQ(Query(request).status().code(), absl::StatusCode::kInvalidArgument);
  request = {};
  request.set_from_step(-1);
  EXPECT_THAT(std::string(Query(request).status().message()), HasSubstr("from_step is -1"));
  request = {};
  request.set_to_step(-1);
  EXPECT_THAT(std::string(Query(request).status().message()), HasSubstr("to_step is -1"));
}

TEST_F(HistogramsTest, AnAnswerThatIsTooLargeIsRefused) {
  Add(1, 0, "p", 1);
  Add(1, 0, "p", 2);
  // On the wire: series 3, step 2, min 9, max 9, counts 3.
  EXPECT_TRUE(Query({}, 52).ok());
  const auto refused = Query({}, 51);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("max_steps"));
}

}  // namespace
}  // namespace ddp
