#include "attempt/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace ddp {
namespace {

class EventLogTest : public ::testing::Test {
 protected:
  EventLogTest() {
    std::string name = ::testing::TempDir() + "/event_log_test.XXXXXX";
    dir_ = mkdtemp(name.data());
  }
  ~EventLogTest() override { std::filesystem::remove_all(dir_); }

  static v1::RunnerEvent Notice(const std::string& text) {
    v1::RunnerEvent event;
    event.mutable_from_rank()->mutable_event()->mutable_notice()->set_text(text);
    return event;
  }
  std::vector<std::string> ReadAll() {
    EventLogReader reader(dir_);
    std::vector<std::string> texts;
    for (;;) {
      auto event = reader.Next();
      EXPECT_TRUE(event.ok()) << event.status();
      if (!event.ok() || !*event) return texts;
      EXPECT_EQ((*event)->seq(), texts.size() + 1);
      texts.push_back((*event)->from_rank().event().notice().text());
    }
  }
  std::string dir_;
};

TEST_F(EventLogTest, RoundTripWhileItGrows) {
  EventLogReader early(dir_);
  EXPECT_FALSE(early.Next().value());
  auto log = EventLog::Open(dir_, Clock::System());
  ASSERT_TRUE(log.ok()) << log.status();
  ASSERT_TRUE(log->Append(Notice("a")).ok());
  EXPECT_EQ((*early.Next())->seq(), 1u);
  EXPECT_FALSE(early.Next().value());
  ASSERT_TRUE(log->Append(Notice(std::string(100000, 'b'))).ok());
  EXPECT_EQ((*early.Next())->from_rank().event().notice().text().size(), 100000u);
  EXPECT_EQ(log->written_seq(), 2u);
  EXPECT_FALSE(EventLog::Open(dir_, Clock::System()).ok());  // never two writers
}

// RLIMIT_FSIZE plays the full disk.
TEST_F(EventLogTest, AFullDiskDelaysAndLosesNothing) {
  std::signal(SIGXFSZ, SIG_IGN);
  auto log = EventLog::Open(dir_, Clock::System());
  ASSERT_TRUE(log.ok());
  ASSERT_TRUE(log->Append(Notice("first")).ok());
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{1000, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_FALSE(log->Append(Notice(std::string(2000, 'x'))).ok());
  EXPECT_FALSE(log->Append(Notice("third")).ok());
  EXPECT_EQ(log->written_seq(), 1u);
  EXPECT_EQ(ReadAll(), std::vector<std::string>{"first"});  // half a frame is not written yet
  setrlimit(RLIMIT_FSIZE, &old);
  ASSERT_TRUE(log->Flush().ok());
  EXPECT_EQ(log->written_seq(), 3u);
  EXPECT_EQ(ReadAll(), (std::vector<std::string>{"first", std::string(2000, 'x'), "third"}));
}

// The twin of a disk that fails: what it wrote of a frame, and what a reader saw of it, is whatever it likes.
TEST_F(EventLogTest, HalfAFrameIsNeverFollowedByAWholeOne) {
  std::signal(SIGXFSZ, SIG_IGN);
  auto log = EventLog::Open(dir_, Clock::System());
  ASSERT_TRUE(log.ok());
  ASSERT_TRUE(log->Append(Notice("first")).ok());
  EventLogReader reader(dir_);
  ASSERT_TRUE(reader.Next()->has_value());
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const std::string path = dir_ + "/" + kEventLogName;
  std::vector<std::string> expected{"first"};
  // Full at each of many sizes, so that frames are cut in their lengths as well as in their bodies.
  for (int i = 0; i < 40; ++i) {
    const rlimit small{std::filesystem::file_size(path) + static_cast<rlim_t>(i), old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    expected.push_back(std::string(100, static_cast<char>('A' + i)));
    EXPECT_FALSE(log->Append(Notice(expected.back())).ok());
    EXPECT_EQ(std::filesystem::file_size(path), small.rlim_cur);
    EXPECT_FALSE(reader.Next()->has_value());  // has taken the half into its buffer
    setrlimit(RLIMIT_FSIZE, &old);
    if (i % 2 == 0) {
      // A write that failed, but has written more than it says, and something else.
      std::ofstream(path, std::ios::app) << std::string(7, '\0');
    }
    ASSERT_TRUE(log->Flush().ok());
    const auto event = reader.Next();
    ASSERT_TRUE(event.ok() && *event) << event.status();
    EXPECT_EQ((*event)->from_rank().event().notice().text(), expected.back());
  }
  EXPECT_EQ(ReadAll(), expected);
}

// A disk that stays full: what waits is bounded, what tells the attempt's course is kept all the same.
TEST_F(EventLogTest, ReportsAreLetGoWhenTooMuchWaits) {
  std::signal(SIGXFSZ, SIG_IGN);
  const auto report = [](const std::string& series) {
    v1::RunnerEvent event;
    event.mutable_from_rank()->mutable_event()->mutable_metrics()->add_columns()->set_series(series);
    return event;
  };
  v1::RunnerEvent progress;
  progress.mutable_from_rank()->mutable_event()->mutable_progress()->set_step(3);
  auto log = EventLog::Open(dir_, Clock::System(), /*kept_bytes=*/1 << 20);
  ASSERT_TRUE(log.ok());
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit none{0, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &none);
  EXPECT_FALSE(log->Append(report(std::string(1 << 20, 'a'))).ok());  // fills what may wait
  EXPECT_FALSE(log->Append(report("lost")).ok());
  EXPECT_FALSE(log->Append(progress).ok());
  EXPECT_FALSE(log->Append(Notice("a checkpoint failed")).ok());
  EXPECT_FALSE(log->Append(report("lost")).ok());
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_TRUE(log->Append(report("b")).ok());
  EXPECT_EQ(log->written_seq(), 5u);

  EventLogReader reader(dir_);
  std::vector<v1::RunnerEvent> events;
  for (auto event = reader.Next(); event.ok() && *event; event = reader.Next()) events.push_back(**event);
  ASSERT_EQ(events.size(), 5u);
  for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].seq(), i + 1);
  const auto text = [&events](size_t i) { return events[i].from_rank().event().notice().text(); };
  EXPECT_EQ(events[0].from_rank().event().metrics().columns(0).series().size(), size_t{1} << 20);
  EXPECT_EQ(
      text(1),
      "lost reports of metrics and progress: 2. events.log could not be written for so long that 1 MiB of it waited; "
      "make room on the disk");
  EXPECT_EQ(text(2), "a checkpoint failed");
  EXPECT_THAT(text(3), ::testing::StartsWith("lost reports of metrics and progress: 1. "));
  EXPECT_EQ(events[4].from_rank().event().metrics().columns(0).series(), "b");
}

}  // namespace
}  // namespace ddp
