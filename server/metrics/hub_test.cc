#include "server/metrics/hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "server/metrics/subscription.h"
#include "server/store/store_fixture.h"
#include "server/store/testing.h"
#include "server/telemetry.h"

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

  // The seqs of the batches whose points were handed out until there is nothing more; lagged ranges as negative pairs.
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
        for (const double value : out.columns(0).value()) seqs.push_back(static_cast<int64_t>(value));
        EXPECT_EQ(seqs.back(), static_cast<int64_t>(out.seq()));
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

// 10,000 who join a running job get its history in a few messages, not in one for each batch.
TEST_F(HubTest, HistoryIsMerged) {
  for (int i = 0; i < 100; ++i) Ingest();
  Settle();
  const auto messages = [&](bool merging) {
    auto subscription = hub_.Subscribe(
        kJob, 0, [] {}, merging);
    std::vector<uint64_t> seqs;
    v1::StreamMetricsResponse out;
    while (*subscription->Next(out) == StreamStep::kItem) seqs.push_back(out.seq());
    return seqs;
  };
  EXPECT_THAT(messages(true), ElementsAre(100));  // they fit into one page
  EXPECT_EQ(messages(false).size(), 100u);
  // Who joins while another one still has a message in hand shares it.
  auto one = hub_.Subscribe(kJob, 0, [] {});
  auto other = hub_.Subscribe(kJob, 0, [] {});
  std::shared_ptr<const StreamMessage> its;
  std::shared_ptr<const StreamMessage> the_others;
  ASSERT_EQ(*one->Next(its), StreamStep::kItem);
  ASSERT_EQ(*other->Next(the_others), StreamStep::kItem);
  EXPECT_EQ(its, the_others);
  EXPECT_EQ(the_others->response().seq(), 100u);
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

TEST_F(HubTest, WhatIsNoColumnIsLeftOutAndCounted) {
  v1::MetricBatch metrics = OneSeries("loss", {{1, 0.5}});
  *metrics.add_columns() = OneSeries("short", {{1, 1.0}, {2, 2.0}}).columns(0);
  metrics.mutable_columns(1)->mutable_value()->RemoveLast();
  *metrics.add_columns() = OneSeries("", {{1, 1.0}}).columns(0);
  *metrics.add_columns() = OneSeries(std::string(201, 's'), {{1, 1.0}}).columns(0);
  const uint64_t malformed = telemetry.points_malformed;
  WriteBatch writes;
  const MetricHub::Batch batch = hub_.Stage(kJob, 1, 0, metrics, writes);
  ASSERT_TRUE(store_->CommitAndWait(std::move(writes)).ok());
  hub_.Publish(kJob, batch);
  EXPECT_EQ(telemetry.points_malformed - malformed, 4u);
  ASSERT_EQ(batch->columns_size(), 1);
  v1::StreamMetricsResponse stored;
  EXPECT_EQ(*hub_.Subscribe(kJob, 0, [] {})->Next(stored), StreamStep::kItem);
  ASSERT_EQ(stored.columns_size(), 1);
  EXPECT_EQ(stored.columns(0).series(), "loss");
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

// What comes between two rounds is one message for each subscriber; the first round after a rest begins at once.
TEST_F(HubTest, RoundsCarryAllThatCameSinceTheLast) {
  MetricHub hub(store_->reader(), 100, [](size_t subscribers) { return absl::Hours(subscribers); });
  hub.Open(kJob, 0);
  const auto ingest = [&](int32_t attempt) {
    WriteBatch writes;
    ++step_;
    const auto batch = hub.Stage(kJob, attempt, 0, OneSeries("loss", {{step_, static_cast<double>(step_)}}), writes);
    ASSERT_TRUE(store_->CommitAndWait(std::move(writes)).ok());
    hub.Publish(kJob, batch);
  };
  std::atomic<int> woken = 0;
  auto one = hub.Subscribe(kJob, 0, [&woken] { ++woken; });
  auto other = hub.Subscribe(kJob, 0, [] {});
  auto apart = hub.Subscribe(
      kJob, 0, [] {}, /*merging=*/false);
  EXPECT_THAT(Drain(*apart, StreamStep::kWait), ElementsAre());
  EXPECT_THAT(Drain(*one, StreamStep::kWait), ElementsAre());
  EXPECT_THAT(Drain(*other, StreamStep::kWait), ElementsAre());
  ingest(1);
  EXPECT_THAT(Drain(*one, StreamStep::kWait), ElementsAre(1));
  for (int i = 0; i < 3; ++i) ingest(1);
  for (int i = 0; i < 2; ++i) ingest(2);
  EXPECT_EQ(woken, 1);
  EXPECT_THAT(Drain(*one, StreamStep::kWait), ElementsAre());
  EXPECT_THAT(Drain(*other, StreamStep::kWait), ElementsAre(1));
  // Who comes now gets what all have got, and the rest with them.
  auto late = hub.Subscribe(kJob, 0, [] {});
  EXPECT_THAT(Drain(*late, StreamStep::kWait), ElementsAre(1));
  auto resumed = hub.Subscribe(kJob, 2, [] {});
  EXPECT_THAT(Drain(*resumed, StreamStep::kWait), ElementsAre());
  hub.Close(kJob);
  EXPECT_EQ(woken, 2);
  v1::StreamMetricsResponse out;
  for (uint64_t seq = 1; seq <= 6; ++seq) {
    EXPECT_EQ(*apart->Next(out), StreamStep::kItem);
    EXPECT_EQ(out.seq(), seq);
    EXPECT_THAT(out.columns(0).value(), ElementsAre(static_cast<double>(seq)));
  }
  EXPECT_EQ(*one->Next(out), StreamStep::kItem);
  EXPECT_EQ(out.seq(), 4u);  // 2 to 4: of one attempt
  EXPECT_EQ(out.attempt(), 1);
  EXPECT_THAT(out.columns(0).value(), ElementsAre(2, 3, 4));
  EXPECT_THAT(Drain(*one, StreamStep::kEnd), ElementsAre(5, 6));
  EXPECT_THAT(Drain(*other, StreamStep::kEnd), ElementsAre(2, 3, 4, 5, 6));
  EXPECT_THAT(Drain(*late, StreamStep::kEnd), ElementsAre(2, 3, 4, 5, 6));
  EXPECT_THAT(Drain(*resumed, StreamStep::kEnd), ElementsAre(3, 4, 5, 6));
}

// A round that is put off begins by itself, and who asks in the middle of one misses nothing.
TEST_F(HubTest, ManySubscribersInRoundsGetEachOnce) {
  constexpr uint64_t kBatches = 300;
  constexpr size_t kSubscribers = 100;  // more than are woken by whoever publishes
  MetricHub hub(store_->reader(), kBatches, [](size_t) { return absl::Milliseconds(5); });
  hub.Open(kJob, 0);
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<size_t> ready;
  std::vector<std::unique_ptr<MetricSubscription>> subscriptions;
  std::vector<uint64_t> last(kSubscribers);
  for (size_t i = 0; i < kSubscribers; ++i) {
    subscriptions.push_back(hub.Subscribe(kJob, 0, [&, i] {
      std::lock_guard lock(mutex);
      ready.push_back(i);
      changed.notify_one();
    }));
    EXPECT_THAT(Drain(*subscriptions[i], StreamStep::kWait), ElementsAre());
  }
  std::thread producer([&] {
    for (uint64_t i = 1; i <= kBatches; ++i) {
      WriteBatch writes;
      const auto step = static_cast<int64_t>(i);
      hub.Publish(kJob, hub.Stage(kJob, 1, 0, OneSeries("loss", {{step, 0.0}}), writes));
    }
  });
  uint64_t messages = 0;
  size_t complete = 0;
  while (complete < kSubscribers) {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(30), [&] { return !ready.empty(); }));
    const size_t i = ready.front();
    ready.pop_front();
    lock.unlock();
    v1::StreamMetricsResponse out;
    while (*subscriptions[i]->Next(out) == StreamStep::kItem) {
      ++messages;
      for (const int64_t step : out.columns(0).step()) ASSERT_EQ(step, static_cast<int64_t>(++last[i]));
      ASSERT_EQ(out.seq(), last[i]);
      complete += last[i] == kBatches ? 1 : 0;
    }
  }
  producer.join();
  EXPECT_LT(messages, kSubscribers * kBatches);
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
          for (const int64_t batch : out.columns(0).step()) ASSERT_EQ(batch, static_cast<int64_t>(++last));
          ASSERT_EQ(out.seq(), last);
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
