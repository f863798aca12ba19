#include "worker/report/standalone_runner.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "common/exit_codes.h"
#include "common/framing.h"
#include "ddp/v1/worker.pb.h"

namespace ddp {
namespace {

// The test plays the rank.
class StandaloneRunnerTest : public ::testing::Test {
 protected:
  StandaloneRunnerTest() {
    std::string name = ::testing::TempDir() + "standalone_runner_test.XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~StandaloneRunnerTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<StandaloneRunner> Start() {
    v1::Launch launch;
    launch.set_checkpoint_dir("/c");
    StandalonePlan plan;
    plan.folder = folder_;
    plan.launch = launch.SerializeAsString();
    auto runner = StandaloneRunner::Start(std::move(plan));
    EXPECT_TRUE(runner.ok()) << runner.status();
    return *std::move(runner);
  }

  static v1::WorkerCommand Read(const StandaloneRunner& runner) {
    const auto frame = ReadFrame(runner.worker_fd());
    v1::WorkerCommand command;
    EXPECT_TRUE(frame.ok() && *frame && command.ParseFromString(**frame));
    return command;
  }
  static void Send(const StandaloneRunner& runner, const v1::WorkerEvent& event) {
    EXPECT_TRUE(WriteFrame(runner.worker_fd(), event.SerializeAsString()).ok());
  }
  static v1::WorkerEvent Point(double value) {
    v1::WorkerEvent event;
    v1::MetricColumn& column = *event.mutable_metrics()->add_columns();
    column.set_series("loss");
    column.add_step(1);
    column.add_time(2);
    column.add_value(value);
    return event;
  }

  std::string folder_;
};

TEST_F(StandaloneRunnerTest, StartsARankOfOneWithASocketAndMemory) {
  const auto runner = Start();
  const v1::WorkerStart start = Read(*runner).start();
  EXPECT_EQ(start.launch().checkpoint_dir(), "/c");
  EXPECT_EQ(start.rank(), 0);
  EXPECT_EQ(start.world_size(), 1);
  EXPECT_GT(start.store_port(), 0);
  struct stat status {};
  ASSERT_EQ(fstat(start.store_fd(), &status), 0);
  EXPECT_TRUE(S_ISSOCK(status.st_mode));
  ASSERT_EQ(fstat(start.shm_fd(), &status), 0);
  EXPECT_GT(status.st_size, 0);
  EXPECT_EQ(runner->Finish(kExitOk), 0);
}

TEST_F(StandaloneRunnerTest, EverythingIsPrintedAndKeptBeforeTheEnd) {
  ::testing::internal::CaptureStdout();
  const auto first = Start();
  Read(*first);
  Send(*first, Point(0.5));
  v1::WorkerEvent finished;
  finished.mutable_finished()->set_outcome(v1::WorkerFinished::OUTCOME_COMPLETED);
  finished.mutable_finished()->set_step(1);
  Send(*first, finished);
  EXPECT_EQ(first->Finish(kExitOk), 0);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "done at step 1\n");
  // The next run goes on in the same file.
  const auto second = Start();
  Read(*second);
  Send(*second, Point(0.25));
  EXPECT_EQ(second->Finish(kExitFailure), 1);
  EXPECT_EQ(*ReadFile(folder_ + "/metrics.csv"), "series,step,time,value\nloss,1,2.000000,0.5\nloss,1,2.000000,0.25\n");
}

TEST_F(StandaloneRunnerTest, TheFirstSignalAsksForAStopAndTheSecondEnds) {
  for (const int first : {SIGINT, SIGTERM}) {
    for (const int second : {SIGINT, SIGTERM}) {
      EXPECT_EXIT(
          {
            const auto runner = Start();
            // A point that has arrived says that the runner is past the start, and hears signals.
            Read(*runner);
            Send(*runner, Point(1));
            while (ReadFile(folder_ + "/metrics.csv")->find("loss,1,") == std::string::npos) std::this_thread::yield();
            raise(first);
            if (!Read(*runner).stop().save()) std::_Exit(1);
            raise(second);
            std::_Exit(2);
          },
          ::testing::KilledBySignal(second), "once more: ends at once");
      std::filesystem::remove(folder_ + "/metrics.csv");
    }
  }
}

TEST_F(StandaloneRunnerTest, ExitCodesForPeople) {
  for (const auto& [worker, people] :
       {std::pair{kExitOk, 0}, {kExitFailure, 1}, {kExitPeerLost, 1}, {kExitNoRetry, 3}}) {
    const auto runner = Start();
    Read(*runner);
    EXPECT_EQ(runner->Finish(worker), people);
  }
}

}  // namespace
}  // namespace ddp
