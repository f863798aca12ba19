#include "client/job_set.h"

#include <gtest/gtest.h>

namespace ddp {
namespace {

v1::WatchJobsResponse Update(const std::vector<std::pair<std::string, v1::JobState>>& jobs,
                             const std::vector<std::string>& deleted = {}) {
  v1::WatchJobsResponse update;
  for (const auto& [id, state] : jobs) {
    v1::Job& job = *update.add_jobs();
    job.set_id(id);
    job.set_state(state);
  }
  for (const std::string& id : deleted) update.add_deleted(id);
  return update;
}

std::vector<std::string> Ids(const std::vector<v1::Job>& jobs) {
  std::vector<std::string> ids;
  for (const v1::Job& job : jobs) ids.push_back(job.id());
  return ids;
}

TEST(JobSetTest, OnlyProgressLeavesTheSlotsAlone) {
  JobSet set;
  EXPECT_TRUE(set.Apply(Update({{"2", v1::JOB_STATE_RUNNING}, {"1", v1::JOB_STATE_QUEUED}})));
  v1::WatchJobsResponse progress = Update({{"2", v1::JOB_STATE_RUNNING}});
  progress.mutable_jobs(0)->mutable_progress()->set_step(7);
  EXPECT_FALSE(set.Apply(progress));
  EXPECT_EQ(Ids(set.Newest(0)), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(set.Newest(0)[1].progress().step(), 7);
  EXPECT_TRUE(set.Apply(Update({{"1", v1::JOB_STATE_STARTING}})));
  EXPECT_TRUE(set.Apply(Update({}, {"1"})));
  EXPECT_FALSE(set.Apply(Update({}, {"1"})));  // it is gone already
  EXPECT_EQ(Ids(set.Newest(0)), std::vector<std::string>{"2"});
}

TEST(JobSetTest, IsCompleteFromTheMessageThatSaysSo) {
  JobSet set;
  v1::WatchJobsResponse last = Update({{"2", v1::JOB_STATE_QUEUED}});
  last.set_complete(true);
  set.Apply(Update({{"1", v1::JOB_STATE_QUEUED}}));
  EXPECT_FALSE(set.complete());
  set.Apply(last);
  EXPECT_TRUE(set.complete());
  set.Apply(Update({{"1", v1::JOB_STATE_RUNNING}}));
  EXPECT_TRUE(set.complete());
}

TEST(JobSetTest, OfTheEndedJobsTheNewest) {
  JobSet set;
  set.Apply(Update({{"1", v1::JOB_STATE_RUNNING},
                    {"2", v1::JOB_STATE_FAILED},
                    {"3", v1::JOB_STATE_SUCCEEDED},
                    {"4", v1::JOB_STATE_PAUSED},
                    {"5", v1::JOB_STATE_QUEUED}}));
  EXPECT_EQ(Ids(set.Newest(2)), (std::vector<std::string>{"1", "3", "4", "5"}));
  EXPECT_EQ(Ids(set.Newest(0)), (std::vector<std::string>{"1", "5"}));
  EXPECT_EQ(Ids(set.Newest(9)).size(), 5);
}

}  // namespace
}  // namespace ddp
