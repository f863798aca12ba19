#include "server/metrics/hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "server/metrics/subscription.h"
#include "server/store/store_fixture.h"
#include "server/store/testing.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;

class HubTest : public StoreFixture {
 protected:
  HubTest() : hub_(store_->reader(), /*queue_limit=*/4) { hub_.Open(kJob, 0); }

  // Stages, commits and publishes the job's next batch; its only value is its seq.
  void Ingest() {
    WriteBatch writes;
    const MetricHub::Batch batch =
        hub_.Stage(kJob, 1, 0, OneSeries("loss", {{++step_, static_cast<double>(step_)}}), writes);
    store_->Commit(std::move(writes), [this, batch](const absl::Status& status) {
      ASSERT_TRUE(status.ok()) << status;
      hub_.Publish(kJob, batch);
    });
  }
  void Settle() { EXPECT_TRUE(store_->CommitAndWait({}).ok()); }

  // Seqs handed out until there is nothing more; lagged ranges as negative pairs.
  std::vector<int64_t> Drain(MetricSubscription& subscription, StreamStep expected_last) {
    std::vector<int64_t> seqs;
    v1::StreamMetricsResponse out;
    while (true) {
      const auto step = subscription.Next(out);
      EXPECT_TRUE(step.ok()) << step.status();
      if (!step.ok()) return seqs;
      if (*step != StreamStep::kItem) {
        EXPECT_EQ(*step, expected_last);
        return seqs;
      }
      if (out.lagged_from() != 0) {
        EXPECT_EQ(out.columns_size(), 0);
        seqs.push_back(-static_cast<int64_t>(out.lagged_from()));
        seqs.push_back(-static_cast<int64_t>(out.seq()));
      } else {
        EXPECT_EQ(out.columns(0).value(0), static_cast<double>(out.seq()));
        seqs.push_back(static_cast<int64_t>(out.seq()));
      }
    }
  }

  MetricHub hub_;
  int64_t step_ = 0;
};

TEST_F(HubTest, HistoryThenLiveThenEnd) {
  for (int i = 0; i < 3; ++i) Ingest();
  Settle();
  auto subscription = hub_.Subscribe(kJob, 0, [] {});
  EXPECT_THAT(Drain(*subscription, StreamStep::kWait), ElementsAre(1, 2, 3));
  Ingest();
  Settle();
  EXPECT_THAT(Drain(*subscription, StreamStep::kWait), ElementsAre(4));
  Ingest();
  Settle();
  hub_.Close(kJob);
  EXPECT_THAT(Drain(*subscription, StreamStep::kEnd), ElementsAre(5));
  // After the end everything comes from the store.
  EXPECT_THAT(Drain(*hub_.Subscribe(kJob, 3, [] {}), StreamStep::kEnd), ElementsAre(4, 5));
}

TEST_F(HubTest, TheResumeTokenGoesOnWhereItWas) {
  for (int i = 0; i < 5; ++i) Ingest();
  Settle();
  EXPECT_THAT(Drain(*hub_.Subscribe(kJob, 3, [] {}), StreamStep::kWait), ElementsAre(4, 5));
  EXPECT_THAT(Drain(*hub_.Subscribe(kJob, 5, [] {}), StreamStep::kWait), ElementsAre());
  v1::StreamMetricsResponse out;
  EXPECT_EQ(hub_.Subscribe(kJob, 6, [] {})->Next(out).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(HubTest, ASlowSubscriberIsToldWhatItMissed) {
  auto slow = hub_.Subscribe(kJob, 0, [] {});
  auto fast = hub_.Subscribe(kJob, 0, [] {});
  Drain(*slow, StreamStep::kWait);
  Drain(*fast, StreamStep::kWait);
  std::vector<int64_t> fast_seqs;
  for (int i = 0; i < 10; ++i) {
    Ingest();
    Settle();
    for (int64_t seq : Drain(*fast, StreamStep::kWait)) fast_seqs.push_back(seq);
  }
  EXPECT_THAT(fast_seqs, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_THAT(Drain(*slow, StreamStep::kWait), ElementsAre(-1, -6, 7, 8, 9, 10));
  Ingest();
  Settle();
  EXPECT_THAT(Drain(*slow, StreamStep::kWait), ElementsAre(11));
}

TEST_F(HubTest, ALongHistoryNeverLags) {
  auto subscription = hub_.Subscribe(kJob, 0, [] {});
  for (int i = 0; i < 100; ++i) Ingest();
  Settle();
  const std::vector<int64_t> seqs = Drain(*subscription, StreamStep::kWait);
  ASSERT_EQ(seqs.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(seqs[i], i + 1);
}

TEST_F(HubTest, ALostCommitLeavesNoHole) {
  Ingest();
  Settle();
  WriteBatch lost;
  EXPECT_EQ(hub_.Stage(kJob, 1, 0, OneSeries("loss", {{2, 2.0}}), lost)->seq(), 2u);
  hub_.Rewind(kJob);  // its commit failed
  step_ = 1;
  Ingest();
  Settle();
  EXPECT_THAT(Drain(*hub_.Subscribe(kJob, 0, [] {}), StreamStep::kWait), ElementsAre(1, 2));
}

TEST_F(HubTest, ADestroyedSubscriptionIsNotWoken) {
  std::atomic<int> woken = 0;
  auto subscription = hub_.Subscribe(kJob, 0, [&woken] { ++woken; });
  Drain(*subscription, StreamStep::kWait);
  Ingest();
  Settle();
  EXPECT_EQ(woken, 1);
  subscription.reset();
  Ingest();
  Settle();
  hub_.Close(kJob);
  EXPECT_EQ(woken, 1);
}

TEST_F(HubTest, JoiningWhileBatchesFlowGivesEachOnce) {
  constexpr int kBatches = 2000;
  MetricHub hub(store_->reader(), kBatches);
  hub.Open(kJob, 0);
  std::thread producer([&] {
    for (int i = 1; i <= kBatches; ++i) {
      WriteBatch writes;
      const MetricHub::Batch batch = hub.Stage(kJob, 1, 0, OneSeries("loss", {{i, static_cast<double>(i)}}), writes);
      store_->Commit(std::move(writes), [&hub, batch](const absl::Status&) { hub.Publish(kJob, batch); });
    }
    Settle();
    hub.Close(kJob);
  });
  std::vector<std::thread> consumers;
  for (int c = 0; c < 4; ++c) {
    consumers.emplace_back([&] {
      std::mutex mutex;
      std::condition_variable changed;
      bool ready = false;
      auto subscription = hub.Subscribe(kJob, 0, [&] {
        std::lock_guard lock(mutex);
        ready = true;
        changed.notify_one();
      });
      uint64_t last = 0;
      v1::StreamMetricsResponse out;
      while (true) {
        const auto step = subscription->Next(out);
        ASSERT_TRUE(step.ok()) << step.status();
        if (*step == StreamStep::kEnd) break;
        if (*step == StreamStep::kItem) {
          ASSERT_EQ(out.seq(), last + 1);
          last = out.seq();
          continue;
        }
        std::unique_lock lock(mutex);
        ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(30), [&] { return ready; }));
        ready = false;
      }
      EXPECT_EQ(last, static_cast<uint64_t>(kBatches));
    });
  }
  producer.join();
  for (std::thread& consumer : consumers) consumer.join();
}

}  // namespace
}  // namespace ddp
