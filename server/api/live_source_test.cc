#include "server/api/live_source.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <thread>

#include "ddp/v1/live.grpc.pb.h"
#include "server/api/server.h"
#include "server/manager/testing.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LiveTest : public ::testing::Test {
 protected:
  LiveTest() : executor_(4), api_{*rig_.manager, *rig_.hub, rig_.store->reader(), executor_, "right", rig_.home, ""} {}

  // A job that trains, with its runner attached.
  std::string Start() {
    const std::string id = rig_.Submit(1);
    EXPECT_TRUE(rig_.manager->Attach(rig_.Hello(id), session_).ok());
    Send(id, Rig::FirstStep(1));
    return id;
  }
  void Send(const std::string& id, const v1::RunnerEvent& event) {
    const absl::Status status = rig_.manager->HandleEvent(rig_.Hello(id), event);
    EXPECT_TRUE(status.ok()) << status;
  }
  void Settle() { EXPECT_TRUE(rig_.store->CommitAndWait({}).ok()); }
  void End(const std::string& id, uint64_t seq) {
    Send(id, Rig::Ended(seq, v1::ATTEMPT_OUTCOME_SUCCEEDED, 1, 1));
    rig_.End(id);
  }
  static v1::Topic Metrics(const std::string& id, uint64_t after = 0) {
    v1::Topic topic;
    topic.mutable_metrics()->set_job_id(id);
    topic.mutable_metrics()->set_after_seq(after);
    return topic;
  }
  static v1::Topic Job(const std::string& id) {
    v1::Topic topic;
    topic.mutable_job()->set_id(id);
    return topic;
  }
  static v1::Topic Logs(const std::string& id) {
    v1::Topic topic;
    topic.mutable_logs()->set_job_id(id);
    return topic;
  }
  static v1::Topic Jobs() {
    v1::Topic topic;
    topic.mutable_jobs();
    return topic;
  }
  void Follow(const std::vector<v1::Topic>& topics) {
    v1::FollowRequest request;
    *request.mutable_topics() = {topics.begin(), topics.end()};
    auto made = LiveFollower::Make(
        api_, request, [this] { ++wakes_; }, rig_.clock);
    ASSERT_TRUE(made.ok()) << made.status();
    follower_ = *std::move(made);
  }
  // Everything there is now; `last_` is what ended it.
  std::vector<v1::FollowResponse> Drain() {
    std::vector<v1::FollowResponse> all;
    for (v1::FollowResponse update;;) {
      last_ = *follower_->Next(update);
      if (last_ != StreamStep::kItem) return all;
      all.push_back(update);
    }
  }

  Rig rig_;
  Executor executor_;
  ApiContext api_;
  std::shared_ptr<FakeSession> session_ = std::make_shared<FakeSession>();
  std::unique_ptr<LiveFollower> follower_;
  std::atomic<int> wakes_{0};
  StreamStep last_ = StreamStep::kItem;
};

TEST_F(LiveTest, TopicsAreNumbered) {
  v1::FollowRequest request;
  EXPECT_THAT(std::string(LiveFollower::Make(api_, request, [] {}).status().message()), HasSubstr("1 to 64"));
  for (int i = 0; i < kMostTopics + 1; ++i) *request.add_topics() = Jobs();
  EXPECT_EQ(LiveFollower::Make(api_, request, [] {}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(LiveTest, WhatEachStreamWouldSendUntilAllEnd) {
  const std::string id = Start();
  Send(id, Rig::Loss(2, 1));
  Settle();
  const std::string dir = rig_.manager->AttemptFolder(id, 1);
  ASSERT_TRUE(MakeFolders(dir).ok());
  std::ofstream(dir + "/rank-0.log") << "hello\n";
  Follow({Metrics(id), Job(id), Logs(id)});
  std::vector<uint64_t> seqs;
  std::vector<uint64_t> events;
  std::vector<std::string> lines;
  std::map<int, int> ends;
  const auto take = [&] {
    for (const v1::FollowResponse& update : Drain()) {
      if (update.has_metrics()) {
        EXPECT_EQ(update.topic(), 0);
        seqs.push_back(update.metrics().seq());
      } else if (update.has_job()) {
        EXPECT_EQ(update.topic(), 1);
        if (update.job().has_event()) events.push_back(update.job().event().seq());
      } else if (update.has_logs()) {
        EXPECT_EQ(update.topic(), 2);
        for (const v1::LogLine& line : update.logs().lines()) lines.push_back(line.text());
      } else {
        ASSERT_TRUE(update.has_end());
        EXPECT_EQ(update.end().code(), 0);
        ++ends[update.topic()];
      }
    }
  };
  take();
  EXPECT_EQ(last_, StreamStep::kPoll);  // for the log
  EXPECT_THAT(seqs, ElementsAre(1));
  EXPECT_THAT(lines, ElementsAre("hello"));
  Send(id, Rig::Loss(3, 2));
  Settle();
  take();
  End(id, 4);
  for (int i = 0; i < 4; ++i) {
    rig_.clock.now += kPollEvery;
    take();
  }
  EXPECT_EQ(last_, StreamStep::kEnd);
  EXPECT_THAT(seqs, ElementsAre(1, 2));
  EXPECT_THAT(events, ElementsAre(1, 2, 3, 4));  // submitted, placed, trains, succeeded
  EXPECT_EQ(ends, (std::map<int, int>{{0, 1}, {1, 1}, {2, 1}}));
}

TEST_F(LiveTest, AnErrorEndsItsTopicOnly) {
  const std::string id = Start();
  Follow({Metrics("0zzzzzzzzzzz"), Metrics(id, 77), v1::Topic(), Jobs()});
  std::map<int, int> codes;
  for (const v1::FollowResponse& update : Drain()) {
    if (update.has_end()) codes[update.topic()] = update.end().code();
  }
  EXPECT_EQ(codes, (std::map<int, int>{{0, static_cast<int>(absl::StatusCode::kNotFound)},
                                       {1, static_cast<int>(absl::StatusCode::kOutOfRange)},
                                       {2, static_cast<int>(absl::StatusCode::kInvalidArgument)}}));
  EXPECT_EQ(last_, StreamStep::kIdle);
  const int before = wakes_;
  ASSERT_TRUE(rig_.manager->Cancel(id, false).ok());
  EXPECT_GT(wakes_, before);
  const auto updates = Drain();
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_EQ(updates[0].topic(), 3);
  EXPECT_EQ(updates[0].jobs().jobs(0).state(), v1::JOB_STATE_CANCELLING);
}

TEST_F(LiveTest, TopicsTakeTurns) {
  const std::string id = Start();
  for (uint64_t seq = 2; seq < 102; ++seq) Send(id, Rig::Loss(seq, static_cast<int64_t>(seq)));
  Settle();
  Follow({Metrics(id), Metrics(id), Job(id)});
  std::map<int, int> counts;
  v1::FollowResponse update;
  for (int i = 0; i < 9; ++i) {
    ASSERT_EQ(*follower_->Next(update), StreamStep::kItem);
    ++counts[update.topic()];
  }
  EXPECT_EQ(counts, (std::map<int, int>{{0, 3}, {1, 3}, {2, 3}}));
}

TEST_F(LiveTest, SilenceIsBrokenAfterTenSeconds) {
  const std::string id = Start();
  Follow({Metrics(id)});
  EXPECT_TRUE(Drain().empty());
  EXPECT_EQ(last_, StreamStep::kIdle);
  rig_.clock.now += absl::Milliseconds(9999);
  EXPECT_TRUE(Drain().empty());
  rig_.clock.now += absl::Milliseconds(1);
  const auto alive = Drain();
  ASSERT_EQ(alive.size(), 1u);
  EXPECT_TRUE(alive[0].has_keep_alive());
  rig_.clock.now += absl::Seconds(9);
  Send(id, Rig::Loss(2, 1));
  Settle();
  EXPECT_EQ(Drain().size(), 1u);
  rig_.clock.now += absl::Seconds(9);
  EXPECT_TRUE(Drain().empty());
}

// The hub's promise, through the whole of it: over the wire, with batches that flow, and a topic that polls beside.
TEST_F(LiveTest, NoGapAndNoDuplicateOverTheWire) {
  const auto server = std::move(ApiServer::Start(api_, {}, "127.0.0.1:0")).value();
  const auto stub =
      v1::LiveService::NewStub(grpc::CreateChannel(server->address(), grpc::InsecureChannelCredentials()));
  const std::string id = Start();
  constexpr uint64_t kBatches = 1000;
  std::thread producer([&] {
    for (uint64_t i = 0; i < kBatches; ++i) Send(id, Rig::Loss(i + 2, static_cast<int64_t>(i) + 1));
    End(id, kBatches + 2);
  });
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  context.AddMetadata("authorization", "Bearer right");
  v1::FollowRequest request;
  *request.add_topics() = Metrics(id);
  *request.add_topics() = Logs(id);
  *request.add_topics() = Metrics(id);
  const auto stream = stub->Follow(&context, request);
  std::map<int, uint64_t> last;
  std::map<int, int> ends;
  for (v1::FollowResponse update; stream->Read(&update);) {
    if (update.has_end()) ++ends[update.topic()];
    if (!update.has_metrics()) continue;
    const v1::StreamMetricsResponse& batch = update.metrics();
    uint64_t& seq = last[update.topic()];
    EXPECT_EQ(batch.lagged_from() > 0 ? batch.lagged_from() : batch.seq(), seq + 1);
    seq = batch.seq();
  }
  producer.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(last, (std::map<int, uint64_t>{{0, kBatches}, {2, kBatches}}));
  EXPECT_EQ(ends, (std::map<int, int>{{0, 1}, {1, 1}, {2, 1}}));
}

TEST_F(LiveTest, TheTokenIsAskedFor) {
  const auto server = std::move(ApiServer::Start(api_, {}, "127.0.0.1:0")).value();
  const auto stub =
      v1::LiveService::NewStub(grpc::CreateChannel(server->address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::FollowRequest request;
  *request.add_topics() = Jobs();
  EXPECT_EQ(stub->Follow(&context, request)->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

}  // namespace
}  // namespace ddp
