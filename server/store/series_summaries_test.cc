#include "server/store/series_summaries.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "server/store/schema.h"
#include "server/store/store_fixture.h"
#include "server/store/testing.h"

namespace ddp {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

class SeriesSummariesTest : public StoreFixture {
 protected:
  void AddTo(WriteBatch& batch, int attempt, int64_t start_step, const v1::MetricBatch& metrics) {
    batch.AddChunk(kJob, {++seq_, attempt, start_step, metrics.SerializeAsString()});
  }
  void Add(int attempt, int64_t start_step, const v1::MetricBatch& metrics) {
    WriteBatch batch;
    AddTo(batch, attempt, start_step, metrics);
    ASSERT_TRUE(store_->CommitAndWait(std::move(batch)).ok());
  }
  std::vector<v1::SeriesSummary> All() { return store_->reader().SeriesSummaries(kJob).value(); }

  uint64_t seq_ = 0;
};

void Expect(const v1::SeriesSummary& summary, const std::string& series, int64_t count, int64_t last_step, double last,
            double min, double max, int64_t non_finite) {
  EXPECT_EQ(summary.series(), series);
  EXPECT_EQ(summary.type(), v1::POINT_TYPE_SCALAR);
  EXPECT_EQ(summary.count(), count);
  EXPECT_EQ(summary.last_step(), last_step);
  EXPECT_EQ(std::bit_cast<uint64_t>(summary.last()), std::bit_cast<uint64_t>(last));
  EXPECT_EQ(std::bit_cast<uint64_t>(summary.min()), std::bit_cast<uint64_t>(min));
  EXPECT_EQ(std::bit_cast<uint64_t>(summary.max()), std::bit_cast<uint64_t>(max));
  EXPECT_EQ(summary.non_finite(), non_finite);
}

TEST_F(SeriesSummariesTest, OverCommitsOfOneAndOfMany) {
  const double nan = std::nan("0x123");
  Add(1, 0, OneSeries("loss", {{1, 3.0}, {2, -kInf}}));
  WriteBatch two;
  AddTo(two, 1, 0, OneSeries("loss", {{3, 1.0}}));
  AddTo(two, 1, 0, OneSeries("loss", {{5, nan}, {4, 2.0}}));
  AddTo(two, 1, 0, OneSeries("acc", {{4, kInf}}));
  ASSERT_TRUE(store_->CommitAndWait(std::move(two)).ok());
  store_.reset();
  Open();
  const auto all = All();
  ASSERT_EQ(all.size(), 2u);
  Expect(all[0], "acc", 1, 4, kInf, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN(),
         1);
  Expect(all[1], "loss", 5, 5, nan, 1.0, 3.0, 2);
}

TEST_F(SeriesSummariesTest, ALaterAttemptSupersedesWhatLiesAfterItsStart) {
  Add(1, 0, OneSeries("loss", {{1, 1.0}, {2, 9.0}, {3, -9.0}}));
  Add(1, 0, OneSeries("acc", {{3, 0.5}}));
  Add(1, 0, OneSeries("lr", {{1, 0.1}}));
  WriteBatch second;  // two chunks of the new attempt in one transaction
  AddTo(second, 2, 2, OneSeries("loss", {{3, 2.0}}));
  AddTo(second, 2, 2, OneSeries("loss", {{4, 1.5}}));
  ASSERT_TRUE(store_->CommitAndWait(std::move(second)).ok());
  auto all = All();
  ASSERT_EQ(all.size(), 3u);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Expect(all[0], "acc", 0, 0, 0, nan, nan, 0);  // no point of it counts, until the attempt gets there
  Expect(all[1], "loss", 4, 4, 1.5, 1.0, 9.0, 0);
  Expect(all[2], "lr", 1, 1, 0.1, 0.1, 0.1, 0);
  Add(3, 1, OneSeries("loss", {{1, 5.0}}));  // from further back; equal steps stay, the later is the last
  all = All();
  Expect(all[1], "loss", 2, 1, 5.0, 1.0, 5.0, 0);
  Add(4, 1, OneSeries("loss", {{2, 7.0}}));  // nothing lies after its start
  Expect(All()[1], "loss", 3, 2, 7.0, 1.0, 7.0, 0);
}

TEST_F(SeriesSummariesTest, ARefusedBatchLeavesNoTrace) {
  Add(1, 0, OneSeries("loss", {{1, 1.0}}));
  WriteBatch refused;
  AddTo(refused, 2, 0, OneSeries("loss", {{1, 100.0}}));
  refused.Acknowledge(kJob, 7, 0, 1);  // there is no such attempt
  EXPECT_EQ(store_->CommitAndWait(std::move(refused)).code(), absl::StatusCode::kAborted);
  Add(1, 0, OneSeries("loss", {{2, 2.0}}));
  Expect(All()[0], "loss", 2, 2, 2.0, 1.0, 2.0, 0);
}

TEST_F(SeriesSummariesTest, ADeletedJobHasNone) {
  WriteBatch batch;
  AddTo(batch, 1, 0, OneSeries("loss", {{1, 1.0}}));
  batch.DeleteJob(kJob);
  ASSERT_TRUE(store_->CommitAndWait(std::move(batch)).ok());
  EXPECT_TRUE(All().empty());
}

TEST_F(SeriesSummariesTest, AFileOfSchema3IsSummedUp) {
  Add(1, 0, OneSeries("loss", {{1, 1.0}, {2, 9.0}, {3, -9.0}}));
  Add(2, 2, OneSeries("loss", {{3, 2.0}}));
  WriteBatch damaged;
  damaged.AddChunk(kJob, {++seq_, 2, 2, "x"});
  ASSERT_TRUE(store_->CommitAndWait(std::move(damaged)).ok());
  store_.reset();
  {
    auto database = Database::Open(folder_ + "/ddpd.db");
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(
        database->Execute("DROP TABLE metric_summaries; DROP TABLE metric_retention; PRAGMA user_version=3").ok());
  }
  Open();
  ASSERT_EQ(All().size(), 1u);
  Expect(All()[0], "loss", 3, 3, 2.0, 1.0, 9.0, 0);
}

}  // namespace
}  // namespace ddp
