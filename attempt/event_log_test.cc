#include "attempt/event_log.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

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
  EXPECT_EQ(ReadAll(), std::vector<std::string>{"first"});  // no half frame is left in the file
  setrlimit(RLIMIT_FSIZE, &old);
  ASSERT_TRUE(log->Flush().ok());
  EXPECT_EQ(log->written_seq(), 3u);
  EXPECT_EQ(ReadAll(), (std::vector<std::string>{"first", std::string(2000, 'x'), "third"}));
}

}  // namespace
}  // namespace ddp
