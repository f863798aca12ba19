#include "server/metrics/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/manager/testing.h"
#include "server/metrics/query.h"
#include "server/metrics/subscription.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

MetricsImport Points(const std::string& request_id, double value) {
  MetricsImport import;
  v1::ImportMetricsRequest message;
  message.mutable_header()->set_name("old run");
  message.mutable_header()->set_source("runs/old");
  message.mutable_header()->set_request_id(request_id);
  EXPECT_TRUE(import.Take(message).ok());
  v1::MetricColumn& column = *message.mutable_batch()->add_columns();
  column.set_series("loss");
  column.add_step(12);
  column.add_time(1700000000);
  column.add_value(value);
  EXPECT_TRUE(import.Take(message).ok());
  EXPECT_TRUE(import.Finish().ok());
  return import;
}

TEST(ImportedJobTest, ItHasSucceededAndItsPointsAreThere) {
  Rig rig;
  const auto made = rig.manager->Import(Points("", 0.5));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(made->made);
  rig.Restart();
  const v1::Job job = rig.Job(made->id);
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(job.state_reason(), "imported from \"runs/old\"");
  EXPECT_EQ(job.spec().imported().source(), "runs/old");
  EXPECT_EQ(job.progress().step(), 12);
  EXPECT_EQ(job.checkpoint_step(), -1);
  EXPECT_TRUE(job.has_end_time());
  v1::QueryMetricsRequest query;
  query.set_job_id(job.id());
  EXPECT_THAT(QueryMetrics(rig.store->reader(), query)->columns(0).value(), ElementsAre(0.5));
  // Its stream is history that ends.
  v1::StreamMetricsResponse batch;
  const auto stream = rig.hub->Subscribe(job.id(), 0, [] {});
  EXPECT_EQ(*stream->Next(batch), StreamStep::kItem);
  EXPECT_EQ(*stream->Next(batch), StreamStep::kEnd);
  EXPECT_EQ(rig.launcher.launches.size(), 0u);
}

TEST(ImportedJobTest, OneRequestIdOneJob) {
  Rig rig;
  const auto first = rig.manager->Import(Points("same", 0.5));
  const auto again = rig.manager->Import(Points("same", 0.5));
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ(first->id, again->id);
  EXPECT_FALSE(again->made);
  EXPECT_EQ(rig.manager->Import(Points("same", 0.75)).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST(ImportedJobTest, ItIsNotResumedAndNobodysParentAndCanBeDeleted) {
  Rig rig;
  const std::string id = rig.manager->Import(Points("", 0.5))->id;
  v1::ResumeJobRequest resume;
  resume.set_id(id);
  std::vector<v1::FieldViolation> violations;
  const absl::Status refused = rig.manager->Resume(resume, &violations).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("it was imported"));
  v1::SubmitJobRequest child = Rig::Request();
  child.mutable_spec()->mutable_training()->set_init_from(id);
  const absl::Status orphan = rig.manager->Submit(child).status;
  EXPECT_EQ(orphan.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(orphan.message()), HasSubstr("was imported and has no checkpoints"));
  EXPECT_TRUE(absl::IsFailedPrecondition(rig.manager->Cancel(id, false).status()));
  ASSERT_TRUE(rig.manager->Delete(id).ok());
  rig.Restart();
  EXPECT_TRUE(absl::IsNotFound(rig.manager->Get(id).status()));
  EXPECT_EQ(*rig.store->reader().LastChunk(id), 0u);
}

TEST(ImportedJobTest, ItCannotBeSubmitted) {
  Rig rig;
  v1::SubmitJobRequest request;
  request.mutable_spec()->mutable_imported()->set_source("x");
  const SubmitResult result = rig.manager->Submit(request);
  EXPECT_EQ(result.status.code(), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(result.violations.size(), 1u);
  EXPECT_EQ(result.violations[0].field(), "imported");
}

}  // namespace
}  // namespace ddp
