#include "server/api/log_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "server/manager/testing.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LogFileTest : public ::testing::Test {
 protected:
  LogFileTest() : path_(::testing::TempDir() + "/log_source_test.log") { std::ofstream(path_, std::ios::trunc); }
  void Append(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }
  std::string path_;
};

TEST_F(LogFileTest, WholeLinesAsTheyGrow) {
  LogFile file(path_, -1);
  EXPECT_THAT(file.Lines(10), IsEmpty());
  Append("a\nb");
  EXPECT_THAT(file.Lines(10), ElementsAre("a"));
  Append("c\n\nd");
  EXPECT_THAT(file.Lines(10), ElementsAre("bc", ""));
  EXPECT_THAT(file.Rest(), ElementsAre("d"));
  EXPECT_THAT(file.Rest(), IsEmpty());
}

TEST_F(LogFileTest, Tail) {
  for (int i = 0; i < 30000; ++i) Append("line " + std::to_string(i) + "\n");
  LogFile file(path_, 2);
  EXPECT_THAT(file.Lines(10), ElementsAre("line 29998", "line 29999"));
  LogFile more(path_, 1000000);
  EXPECT_EQ(more.Lines(1000000).size(), 30000u);
  LogFile few(path_, 20000);
  const auto first = few.Lines(3);
  EXPECT_THAT(first, ElementsAre("line 10000", "line 10001", "line 10002"));
  EXPECT_EQ(few.Lines(100000).size(), 19997u);
}

TEST_F(LogFileTest, AFloodWithoutNewlinesIsCut) {
  Append(std::string(200000, 'x') + "\nnext\n");
  LogFile file(path_, -1);
  const auto lines = file.Lines(10);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].size(), kLongestLine);
  EXPECT_EQ(lines[1], "next");
}

TEST(LogFollowerTest, EverythingUntilTheJobEnds) {
  Rig rig;
  const std::string id = rig.Submit();
  const std::string dir = rig.manager->AttemptFolder(id, 1);
  ASSERT_TRUE(MakeFolders(dir).ok());
  std::ofstream(dir + "/rank-0.log") << "hello\n";
  v1::FollowLogRequest request;
  request.set_job_id(id);
  request.set_rank(-1);
  auto follower = std::move(LogFollower::Make(*rig.manager, request)).value();
  v1::FollowLogResponse out;
  ASSERT_EQ(*follower->Next(out), StreamStep::kItem);
  EXPECT_EQ(out.lines(0).text(), "hello");
  EXPECT_EQ(*follower->Next(out), StreamStep::kPoll);
  std::ofstream(dir + "/rank-1.log") << "last words";
  ASSERT_TRUE(rig.manager->Attach(rig.Hello(id), std::make_shared<FakeSession>()).ok());
  ASSERT_TRUE(rig.manager->HandleEvent(rig.Hello(id), Rig::Ended(1, v1::ATTEMPT_OUTCOME_SUCCEEDED, 1, 1)).ok());
  rig.End(id);
  std::vector<std::string> texts;
  for (auto step = follower->Next(out); *step != StreamStep::kEnd; step = follower->Next(out)) {
    for (const v1::LogLine& line : out.lines()) texts.push_back(line.text());
  }
  EXPECT_THAT(texts, ElementsAre("last words"));
  request.set_rank(2);
  EXPECT_TRUE(absl::IsNotFound(LogFollower::Make(*rig.manager, request).status()));
  request.set_rank(0);
  request.set_attempt(3);
  EXPECT_TRUE(absl::IsNotFound(LogFollower::Make(*rig.manager, request).status()));
}

}  // namespace
}  // namespace ddp
