// The real ddp-runner with fake workers (testing/fake_worker.cc) and a coordinator in this process.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <mutex>

#include "absl/time/clock.h"
#include "attempt/event_log.h"
#include "common/files.h"
#include "common/process.h"
#include "ddp/v1/runner.grpc.pb.h"

namespace ddp {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(30);

template <typename Condition>
bool WaitUntil(Condition condition) {
  for (const absl::Time end = absl::Now() + kPatience; absl::Now() < end; absl::SleepFor(absl::Milliseconds(5))) {
    if (condition()) return true;
  }
  return false;
}

// Keeps every event, acknowledges it, and says stop when told.
class Coordinator final : public v1::RunnerService::Service {
 public:
  explicit Coordinator(const std::string& home) : home_(home) { Start(); }
  ~Coordinator() override { Stop(); }

  void Start() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    EXPECT_TRUE(WriteFileAtomic(home_ + "/address", "127.0.0.1:" + std::to_string(port) + "\n").ok());
  }
  void Stop() {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }
  void Refuse() { refuse_ = true; }
  void SendStop(bool force) {
    stop_force_ = force;
    stop_ = true;
  }
  std::vector<v1::RunnerEvent> events() {
    std::lock_guard lock(mutex_);
    return events_;
  }
  bool SawStep(int64_t step) {
    for (const auto& event : events()) {
      for (const auto& column : event.from_rank().event().metrics().columns()) {
        if (column.step(0) >= step) return true;
      }
    }
    return false;
  }

 private:
  grpc::Status Attach(grpc::ServerContext* context,
                      grpc::ServerReaderWriter<v1::CoordinatorMessage, v1::RunnerMessage>* stream) override {
    v1::RunnerMessage message;
    if (!stream->Read(&message) || message.hello().secret() != "secret" || refuse_) {
      return {grpc::StatusCode::PERMISSION_DENIED, "not the live attempt"};
    }
    v1::CoordinatorMessage reply;
    {
      std::lock_guard lock(mutex_);
      reply.mutable_hello()->set_acked_seq(events_.size());
    }
    stream->Write(reply);
    std::mutex write_mutex;  // two threads write
    std::atomic<bool> over{false};
    std::thread stopper([&] {
      while (!context->IsCancelled() && !over) {
        if (stop_.exchange(false)) {
          v1::CoordinatorMessage stop;
          stop.mutable_stop()->set_force(stop_force_);
          std::lock_guard lock(write_mutex);
          stream->Write(stop);
        }
        absl::SleepFor(absl::Milliseconds(5));
      }
    });
    while (stream->Read(&message)) {
      v1::CoordinatorMessage ack;
      ack.mutable_ack()->set_seq(message.event().seq());
      {
        std::lock_guard lock(mutex_);
        EXPECT_EQ(message.event().seq(), events_.size() + 1);
        events_.push_back(message.event());
      }
      std::lock_guard lock(write_mutex);
      stream->Write(ack);
    }
    over = true;
    stopper.join();
    return grpc::Status::OK;
  }

  const std::string home_;
  std::unique_ptr<grpc::Server> server_;
  std::mutex mutex_;
  std::vector<v1::RunnerEvent> events_;
  std::atomic<bool> refuse_{false};
  std::atomic<bool> stop_{false};
  std::atomic<bool> stop_force_{false};
};

class AttemptTest : public ::testing::Test {
 protected:
  AttemptTest() {
    std::string name = ::testing::TempDir() + "/attempt_test.XXXXXX";
    home_ = mkdtemp(name.data());
    dir_ = home_ + "/attempt";
  }
  ~AttemptTest() override { std::filesystem::remove_all(home_); }

  void Launch(int nproc, const std::map<std::string, std::string>& script, double grace = 10) {
    v1::Launch launch;
    launch.set_format_version(1);
    launch.set_job_id("0job");
    launch.set_attempt(1);
    launch.set_secret("secret");
    launch.set_home(home_);
    launch.set_attempt_dir(dir_);
    launch.set_worker_binary(worker_);
    launch.set_threads_per_rank(1);
    launch.set_stop_grace_seconds(grace);
    launch.mutable_spec()->mutable_resources()->set_nproc(nproc);
    launch.mutable_spec()->mutable_resources()->set_backend(v1::BACKEND_SHM);
    for (const auto& [name, text] : script) {
      (*launch.mutable_spec()->mutable_training()->mutable_model()->mutable_options())[name] = text;
    }
    for (const int gpu : gpus_) launch.add_gpus(gpu);
    ASSERT_TRUE(MakeFolders(dir_).ok());
    ASSERT_TRUE(WriteFileAtomic(dir_ + "/" + kLaunchName, launch.SerializeAsString()).ok());
    auto lock = TryLockFile(dir_ + "/" + kLockName);
    ASSERT_TRUE(lock.ok() && *lock);
    SpawnOptions options;
    options.argv = {DDP_RUNNER, "--attempt-dir", dir_, "--lock-fd", "3"};
    options.environment = AllowedEnvironment();
    options.environment.insert(options.environment.end(), environment_.begin(), environment_.end());
    options.fds = {{(*lock)->get(), 3}};
    auto child = Spawn(options);
    ASSERT_TRUE(child.ok()) << child.status();
    runner_ = *std::move(child);
  }
  // Waits for the runner's end and for the lock, which tells that no process is left; gives the record.
  v1::AttemptEnded Finish() {
    std::optional<ExitStatus> exit;
    EXPECT_TRUE(WaitUntil([&] { return (exit = Reap(runner_.pid, false)).has_value(); }));
    EXPECT_TRUE(WaitUntil([&] {
      auto lock = TryLockFile(dir_ + "/" + kLockName);
      return lock.ok() && lock->has_value();
    }));
    v1::AttemptEnded ended;
    auto text = ReadFile(dir_ + "/" + kExitRecordName);
    EXPECT_TRUE(text.ok() && ended.ParseFromString(*text));
    return ended;
  }
  // The points of one series in the log: steps and values.
  std::vector<std::pair<int64_t, double>> Points(const std::string& series) {
    std::vector<std::pair<int64_t, double>> points;
    for (const v1::RunnerEvent& event : Log()) {
      for (const v1::MetricColumn& column : event.from_rank().event().metrics().columns()) {
        if (column.series() == series) points.emplace_back(column.step(0), column.value(0));
      }
    }
    return points;
  }
  std::vector<v1::RunnerEvent> Log() {
    std::vector<v1::RunnerEvent> events;
    EventLogReader reader(dir_);
    for (auto event = reader.Next(); event.ok() && *event; event = reader.Next()) events.push_back(**event);
    return events;
  }

  std::string home_;
  std::string dir_;
  std::string worker_ = DDP_FAKE_WORKER;
  std::vector<int> gpus_;                 // by rank
  std::vector<std::string> environment_;  // of the runner, besides what is usual
  Child runner_;
};

TEST_F(AttemptTest, Success) {
  Coordinator coordinator(home_);
  Launch(2, {{"all", "begin step 1 step 2 save 2 finish"}});
  const v1::AttemptEnded ended = Finish();
  EXPECT_EQ(ended.outcome(), v1::ATTEMPT_OUTCOME_SUCCEEDED);
  EXPECT_EQ(ended.step(), 2);
  EXPECT_EQ(ended.saved_step(), 2);
  const auto log = Log();
  EXPECT_EQ(log.front().ranks_started().pids_size(), 2);
  EXPECT_TRUE(log.back().has_ended());
  // The coordinator has heard all of it.
  ASSERT_EQ(coordinator.events().size(), log.size());
  for (size_t i = 0; i < log.size(); ++i)
    EXPECT_EQ(coordinator.events()[i].SerializeAsString(), log[i].SerializeAsString());
}

TEST_F(AttemptTest, HistogramsTravelAsTheyAre) {
  Coordinator coordinator(home_);
  Launch(1, {{"all", "begin step 10 hist 10 finish"}});
  EXPECT_EQ(Finish().outcome(), v1::ATTEMPT_OUTCOME_SUCCEEDED);
  const v1::RunnerEvent* found = nullptr;
  const auto heard = coordinator.events();
  for (const v1::RunnerEvent& event : heard) {
    if (event.from_rank().event().metrics().histograms_size() > 0) found = &event;
  }
  ASSERT_NE(found, nullptr);
  const v1::Histogram& histogram = found->from_rank().event().metrics().histograms(0);
  EXPECT_EQ(histogram.series(), "grad/w");
  EXPECT_EQ(histogram.step(), 10);
  ASSERT_EQ(histogram.counts_size(), 64);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(histogram.counts(i), i + 1);
  EXPECT_EQ(histogram.non_finite(), 5);
}

TEST_F(AttemptTest, WhatRanksTakeFromTheMachineIsAmongThePoints) {
  Coordinator coordinator(home_);
  // NVML's numbers of the GPUs are not the ranks'. Rank 1 says nothing: it is measured all the same.
  gpus_ = {1, 0};
  environment_ = {"LD_LIBRARY_PATH=" + std::filesystem::path(DDP_FAKE_NVML).parent_path().string()};
  Launch(2, {{"rank-0", "begin step 4 train 60000 finish"}, {"rank-1", "wait-stop finish"}});
  ASSERT_TRUE(WaitUntil([&] { return !Points("gpu/0/memory_bytes").empty(); }));
  coordinator.SendStop(false);
  EXPECT_EQ(Finish().outcome(), v1::ATTEMPT_OUTCOME_STOPPED);
  for (const char* rank : {"rank/0", "rank/1"}) {
    const auto rss = Points(std::string(rank) + "/rss_bytes");
    ASSERT_GE(rss.size(), 1u);
    EXPECT_GE(rss[0].first, 4);  // the newest step that was heard of
    EXPECT_GT(rss[0].second, 1e6);
    EXPECT_LT(rss[0].second, 1e9);
    const auto cpu = Points(std::string(rank) + "/cpu_percent");
    ASSERT_EQ(cpu.size(), rss.size());
    EXPECT_GE(cpu[0].second, 0);
    EXPECT_LT(cpu[0].second, 50);  // it sleeps nearly all the time
  }
  // The numbers of common/testing/fake_nvml.cc.
  EXPECT_EQ(Points("gpu/0/utilization_percent")[0].second, 91);
  EXPECT_EQ(Points("gpu/1/utilization_percent")[0].second, 90);
  EXPECT_EQ(Points("gpu/0/memory_bytes")[0].second, 34359738369.0);
  EXPECT_TRUE(Points("gpu/0/power_watts").empty());
  EXPECT_EQ(Points("gpu/1/power_watts")[0].second, 312.5);
  EXPECT_EQ(Points("gpu/1/temperature_celsius")[0].second, 60);
  // The coordinator checks that their events are numbered as all others.
  EXPECT_EQ(coordinator.events().size(), Log().size());
}

TEST_F(AttemptTest, NothingIsMeasuredBeforeTrainingBegins) {
  Launch(1, {{"all", "step 1 sleep 1500 finish"}});
  EXPECT_EQ(Finish().outcome(), v1::ATTEMPT_OUTCOME_SUCCEEDED);
  EXPECT_TRUE(Points("rank/0/rss_bytes").empty());
}

TEST_F(AttemptTest, ADriverThatHangsKeepsNobody) {
  gpus_ = {0};
  environment_ = {"LD_LIBRARY_PATH=" + std::filesystem::path(DDP_FAKE_NVML).parent_path().string(), "NVML_FAKE=hang"};
  Launch(1, {{"all", "begin step 1 sleep 1500 finish"}});
  EXPECT_EQ(Finish().outcome(), v1::ATTEMPT_OUTCOME_SUCCEEDED);
  EXPECT_FALSE(Points("rank/0/rss_bytes").empty());
  EXPECT_TRUE(Points("gpu/0/memory_bytes").empty());
}

TEST_F(AttemptTest, TheCauseIsBlamedAndTheOthersEnd) {
  Launch(3, {{"rank-0", "step 5 exit 76"}, {"rank-1", "sleep 100 fail boom exit 1"}, {"rank-2", "hang"}});
  const v1::AttemptEnded ended = Finish();
  EXPECT_EQ(ended.outcome(), v1::ATTEMPT_OUTCOME_FAILED);
  EXPECT_EQ(ended.failure().rank(), 1);
  EXPECT_EQ(ended.failure().message(), "boom");
  EXPECT_EQ(ended.failure().step(), 5);
  EXPECT_EQ(ended.failure().log_tail(), "rank 1 plays\n");
}

TEST_F(AttemptTest, Signal) {
  Launch(2, {{"rank-0", "hang"}, {"rank-1", "sleep 50 kill"}});
  const v1::AttemptEnded ended = Finish();
  EXPECT_EQ(ended.failure().rank(), 1);
  EXPECT_EQ(ended.failure().signal(), SIGKILL);
  EXPECT_THAT(ended.failure().message(), HasSubstr("rank 1 was killed by signal 9 (SIGKILL)"));
}

TEST_F(AttemptTest, ARankThatFailsAndNeverExitsIsBlamedNotItsEcho) {
  Launch(2, {{"rank-0", "sleep 300 exit 76"}, {"rank-1", "fail boom hang"}});
  const v1::AttemptEnded ended = Finish();
  EXPECT_EQ(ended.failure().rank(), 1);
  EXPECT_EQ(ended.failure().message(), "boom");
}

TEST_F(AttemptTest, AFailureEndsTheAttemptThoughNobodyExits) {
  Launch(1, {{"all", "step 3 fail boom hang"}});
  const v1::AttemptEnded ended = Finish();
  EXPECT_EQ(ended.outcome(), v1::ATTEMPT_OUTCOME_FAILED);
  EXPECT_EQ(ended.failure().rank(), 0);
  EXPECT_EQ(ended.failure().message(), "boom");
}

TEST_F(AttemptTest, AWorkerThatCannotBeStarted) {
  worker_ = "/nonexistent/ddp-worker";
  Launch(2, {});
  const v1::AttemptEnded ended = Finish();
  EXPECT_EQ(ended.outcome(), v1::ATTEMPT_OUTCOME_FAILED);
  EXPECT_EQ(ended.failure().rank(), -1);
  EXPECT_EQ(ended.failure().message(),
            "cannot start rank 0: cannot start /nonexistent/ddp-worker: No such file or directory");
  ASSERT_EQ(Log().size(), 1u);
  EXPECT_TRUE(Log().front().has_ended());
}

TEST_F(AttemptTest, CrashAfterTheLastWord) {
  Launch(2, {{"all", "step 1 crash-after-finish"}});
  EXPECT_EQ(Finish().outcome(), v1::ATTEMPT_OUTCOME_SUCCEEDED);
}

TEST_F(AttemptTest, AFailureInTheTeardownDoesNotHurryTheOthers) {
  // Rank 1 needs longer than a failure would leave it.
  Launch(2, {{"rank-0", "step 1 say-finished fail peer exit 76"}, {"rank-1", "sleep 3000 finish"}});
  EXPECT_EQ(Finish().outcome(), v1::ATTEMPT_OUTCOME_SUCCEEDED);
}

TEST_F(AttemptTest, StopSaves) {
  Coordinator coordinator(home_);
  Launch(1, {{"all", "train 60000 finish"}});
  ASSERT_TRUE(WaitUntil([&] { return coordinator.SawStep(3); }));
  coordinator.SendStop(false);
  const v1::AttemptEnded ended = Finish();
  EXPECT_EQ(ended.outcome(), v1::ATTEMPT_OUTCOME_STOPPED);
  EXPECT_GE(ended.saved_step(), 3);
  EXPECT_EQ(ended.saved_step(), ended.step());
}

TEST_F(AttemptTest, ADeafWorkerIsKilledAfterTheGrace) {
  Coordinator coordinator(home_);
  Launch(2, {{"rank-0", "save 4 step 5 hang"}, {"rank-1", "wait-stop finish"}}, /*grace=*/0.2);
  ASSERT_TRUE(WaitUntil([&] { return coordinator.SawStep(5); }));
  coordinator.SendStop(false);
  const v1::AttemptEnded ended = Finish();
  EXPECT_EQ(ended.outcome(), v1::ATTEMPT_OUTCOME_STOPPED);
  EXPECT_EQ(ended.saved_step(), 4);
}

TEST_F(AttemptTest, Force) {
  Coordinator coordinator(home_);
  Launch(1, {{"all", "step 1 hang"}}, /*grace=*/1000);
  ASSERT_TRUE(WaitUntil([&] { return coordinator.SawStep(1); }));
  coordinator.SendStop(true);
  EXPECT_EQ(Finish().outcome(), v1::ATTEMPT_OUTCOME_STOPPED);
}

TEST_F(AttemptTest, SigtermStopsAndSaves) {
  Coordinator coordinator(home_);
  Launch(1, {{"all", "train 60000 finish"}});
  ASSERT_TRUE(WaitUntil([&] { return coordinator.SawStep(1); }));
  kill(runner_.pid, SIGTERM);
  EXPECT_EQ(Finish().outcome(), v1::ATTEMPT_OUTCOME_STOPPED);
}

TEST_F(AttemptTest, ACoordinatorThatComesBackOnAnotherPortMissesNothing) {
  Coordinator coordinator(home_);
  Launch(1, {{"all", "train 1500 finish"}});
  ASSERT_TRUE(WaitUntil([&] { return coordinator.SawStep(5); }));
  coordinator.Stop();
  coordinator.Start();
  EXPECT_EQ(Finish().outcome(), v1::ATTEMPT_OUTCOME_SUCCEEDED);
  // The coordinator itself checks that sequence numbers have no gap and no repetition.
  EXPECT_EQ(coordinator.events().size(), Log().size());
}

TEST_F(AttemptTest, WithoutACoordinatorTrainingGoesOn) {
  Launch(1, {{"all", "step 1 finish"}});
  EXPECT_EQ(Finish().outcome(), v1::ATTEMPT_OUTCOME_SUCCEEDED);
  EXPECT_TRUE(Log().back().has_ended());
}

TEST_F(AttemptTest, AFencedRunnerEndsItsWorkers) {
  Coordinator coordinator(home_);
  coordinator.Refuse();
  Launch(1, {{"all", "train 600000 finish"}});
  EXPECT_EQ(Finish().outcome(), v1::ATTEMPT_OUTCOME_STOPPED);
}

TEST_F(AttemptTest, GrandchildrenAreNotLeft) {
  // The lock is handed down to the grandchild as well: that Finish gets it proves that the grandchild is gone.
  Launch(2, {{"all", "fork step 1 finish"}});
  EXPECT_EQ(Finish().outcome(), v1::ATTEMPT_OUTCOME_SUCCEEDED);
}

}  // namespace
}  // namespace ddp
