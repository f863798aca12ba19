#include "server/scheduler/plan.h"

#include <gtest/gtest.h>

namespace ddp {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1000000);
absl::Time Ago(int seconds) { return kNow - absl::Seconds(seconds); }

std::string Text(const std::vector<Placement>& placements) {
  std::string text;
  for (const Placement& p : placements) {
    text += p.job_id + ":";
    for (const int slot : p.slots) text += std::to_string(slot);
    text += " ";
  }
  return text;
}

TEST(PlanTest, AllOrNothing) {
  EXPECT_EQ(Text(Plan({{"a", 0, 3, Ago(1)}}, {0, 1}, kNow)), "");
  EXPECT_EQ(Text(Plan({{"a", 0, 3, Ago(1)}}, {5, 2, 7}, kNow)), "a:257 ");
}

TEST(PlanTest, PriorityThenFifo) {
  EXPECT_EQ(Text(Plan({{"a", 0, 1, Ago(2)}, {"b", 5, 1, Ago(1)}, {"c", 0, 1, Ago(3)}}, {0, 1}, kNow)), "b:0 c:1 ");
  EXPECT_EQ(Text(Plan({{"b", 0, 1, Ago(1)}, {"a", 0, 1, Ago(1)}}, {0}, kNow)), "a:0 ");
}

TEST(PlanTest, ASmallJobPassesOnlyForAWhile) {
  EXPECT_EQ(Text(Plan({{"big", 0, 2, Ago(30)}, {"small", 0, 1, Ago(5)}}, {1}, kNow)), "small:1 ");
  EXPECT_EQ(Text(Plan({{"big", 0, 2, Ago(60)}, {"small", 0, 1, Ago(5)}}, {1}, kNow)), "");
  // Those before the blocked one start all the same.
  EXPECT_EQ(Text(Plan({{"first", 0, 1, Ago(90)}, {"big", 0, 2, Ago(80)}, {"small", 0, 1, Ago(5)}}, {0, 1}, kNow)),
            "first:0 ");
}

TEST(PlanTest, Nothing) {
  EXPECT_EQ(Text(Plan({}, {0, 1}, kNow)), "");
  EXPECT_EQ(Text(Plan({{"a", 0, 1, Ago(1)}}, {}, kNow)), "");
}

}  // namespace
}  // namespace ddp
