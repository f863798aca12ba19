#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "absl/time/clock.h"
#include "ddp/v1/metric.grpc.pb.h"
#include "ddp/v1/rpc_status.pb.h"
#include "ddp/v1/system.grpc.pb.h"
#include "server/api/api_fixture.h"

namespace ddp {
namespace {

using ::testing::HasSubstr;

TEST_F(ApiTest, Token) {
  v1::ListJobsResponse response;
  for (const char* token : {"", "wrong", "righ", "rightt"}) {
    EXPECT_EQ(jobs_->List(Context(token).get(), {}, &response).error_code(), grpc::StatusCode::UNAUTHENTICATED)
        << token;
    const auto context = Context(token);
    v1::WatchJobRequest request;
    const auto stream = jobs_->Watch(context.get(), request);
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED) << token;
  }
  EXPECT_TRUE(jobs_->List(Context().get(), {}, &response).ok());
}

// What a client's library reads: a google.rpc.Status that says the same as the call.
v1::ErrorDetail DetailOf(const grpc::Status& status) {
  v1::RpcStatus rich;
  EXPECT_TRUE(rich.ParseFromString(status.error_details()));
  EXPECT_EQ(rich.code(), status.error_code());
  EXPECT_EQ(rich.message(), status.error_message());
  v1::ErrorDetail detail;
  EXPECT_TRUE(rich.details_size() == 1 && rich.details(0).UnpackTo(&detail));
  return detail;
}

TEST_F(ApiTest, ErrorDetails) {
  v1::SubmitJobRequest request = Rig::Request();
  request.mutable_spec()->mutable_training()->set_batch_size(0);
  v1::SubmitJobResponse response;
  const grpc::Status status = jobs_->Submit(Context().get(), request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const v1::ErrorDetail detail = DetailOf(status);
  ASSERT_EQ(detail.violations_size(), 1);
  EXPECT_EQ(detail.violations(0).field(), "training.batch_size");
  v1::GetJobRequest get;
  get.set_id("0zzz");
  v1::Job job;
  EXPECT_EQ(jobs_->Get(Context().get(), get, &job).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ApiTest, LongRefusalsArriveCut) {
  for (int i = 0; i < 100; ++i) {
    v1::FieldViolation& violation = *rig_.checker.result.add_violations();
    violation.set_field("training.data.source");
    violation.set_description(std::string(5000, 'x'));
  }
  v1::SubmitJobResponse response;
  const grpc::Status status = jobs_->Submit(Context().get(), Rig::Request(), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  const v1::ErrorDetail detail = DetailOf(status);
  EXPECT_EQ(detail.violations_size(), 5);  // of some 630 bytes each
  EXPECT_EQ(detail.violations(0).description(), std::string(600, 'x') + "...");
}

TEST_F(ApiTest, RunnerWatcherAndMetricsOverTheWire) {
  const std::string id = Submit();
  Runner runner(channel_, rig_.Hello(id));
  ASSERT_TRUE(runner.attached());
  EXPECT_EQ(runner.acked_at_attach(), 0u);

  const auto metric_stub = v1::MetricService::NewStub(channel_);
  std::vector<v1::StreamMetricsResponse> live;
  grpc::Status metric_status;
  std::thread subscriber([&] {
    const auto context = Context();
    v1::StreamMetricsRequest request;
    request.set_job_id(id);
    const auto stream = metric_stub->Stream(context.get(), request);
    for (v1::StreamMetricsResponse batch; stream->Read(&batch);) live.push_back(batch);
    metric_status = stream->Finish();
  });
  constexpr uint64_t kBatches = 500;
  ASSERT_TRUE(runner.Send(Rig::FirstStep(1)));
  for (uint64_t i = 0; i < kBatches; ++i) ASSERT_TRUE(runner.Send(Rig::Loss(i + 2, static_cast<int64_t>(i) + 1)));
  ASSERT_TRUE(runner.Send(Rig::Ended(kBatches + 2, v1::ATTEMPT_OUTCOME_SUCCEEDED, kBatches, kBatches)));
  EXPECT_TRUE(runner.WaitAcked(kBatches + 2));
  rig_.End(id);

  const auto context = Context();
  v1::WatchJobRequest request;
  request.set_id(id);
  const auto watch = jobs_->Watch(context.get(), request);
  v1::Job last;
  for (v1::WatchJobResponse update; watch->Read(&update);) {
    if (update.has_job()) last = update.job();
  }
  EXPECT_TRUE(watch->Finish().ok());
  EXPECT_EQ(last.state(), v1::JOB_STATE_SUCCEEDED);
  subscriber.join();
  EXPECT_TRUE(metric_status.ok()) << metric_status.error_message();
  // No gap and no duplicate: each of the batches, whose step is their number, follows the one before.
  uint64_t last_seq = 0;
  for (const v1::StreamMetricsResponse& batch : live) {
    EXPECT_EQ(batch.lagged_from(), 0u);
    for (const int64_t step : batch.columns(0).step()) EXPECT_EQ(step, static_cast<int64_t>(++last_seq));
    EXPECT_EQ(batch.seq(), last_seq);
  }
  EXPECT_EQ(last_seq, kBatches);
  // Who comes later gets all of it.
  const auto history_context = Context();
  v1::StreamMetricsRequest history_request;
  history_request.set_job_id(id);
  const auto history = metric_stub->Stream(history_context.get(), history_request);
  uint64_t count = 0;
  for (v1::StreamMetricsResponse batch; history->Read(&batch);) {
    for (const int64_t step : batch.columns(0).step()) EXPECT_EQ(step, static_cast<int64_t>(++count));
    EXPECT_EQ(batch.seq(), count);
  }
  EXPECT_TRUE(history->Finish().ok());
  EXPECT_EQ(count, kBatches);
}

TEST_F(ApiTest, HistogramsOverTheWire) {
  const std::string id = Submit();
  Runner runner(channel_, rig_.Hello(id));
  ASSERT_TRUE(runner.attached());
  for (uint64_t seq = 1; seq <= 5; ++seq) {
    ASSERT_TRUE(runner.Send(Rig::Histogram(seq, static_cast<int64_t>(10 * seq), -0.5)));
  }
  ASSERT_TRUE(runner.WaitAcked(5));
  const auto stub = v1::MetricService::NewStub(channel_);
  v1::QueryHistogramsRequest request;
  request.set_job_id(id.substr(0, 8));  // a prefix will do
  request.set_max_steps(2);
  v1::QueryHistogramsResponse response;
  const grpc::Status status = stub->Histograms(Context().get(), request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(response.histograms_size(), 2);
  EXPECT_EQ(response.histograms(0).series(), "grad/w");
  EXPECT_EQ(response.histograms(0).step(), 10);
  EXPECT_EQ(response.histograms(1).step(), 50);
  EXPECT_EQ(response.histograms(1).min(), -0.5);
  EXPECT_EQ(response.histograms(1).counts(0), 7);

  EXPECT_EQ(stub->Histograms(Context("wrong").get(), request, &response).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  request.set_max_steps(-1);
  EXPECT_EQ(stub->Histograms(Context().get(), request, &response).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_job_id("0zzz");
  EXPECT_EQ(stub->Histograms(Context().get(), request, &response).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ApiTest, ImportedMetrics) {
  const auto stub = v1::MetricService::NewStub(channel_);
  v1::ImportMetricsRequest header;
  header.mutable_header()->set_source("runs/old");
  v1::ImportMetricsRequest batch;
  v1::MetricColumn& column = *batch.mutable_batch()->add_columns();
  column.set_series("loss");
  for (int step = 1; step <= 3; ++step) {
    column.add_step(step);
    column.add_time(step);
    column.add_value(step);
  }
  const auto jobs = [this] {
    v1::ListJobsResponse list;
    EXPECT_TRUE(jobs_->List(Context().get(), {}, &list).ok());
    return list.jobs_size();
  };
  v1::ImportMetricsResponse response;
  {
    // A client that goes away leaves nothing.
    const auto context = Context();
    const auto stream = stub->Import(context.get(), &response);
    ASSERT_TRUE(stream->Write(header) && stream->Write(batch));
    context->TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  {
    const auto context = Context();
    const auto stream = stub->Import(context.get(), &response);
    stream->Write(batch);
    const grpc::Status status = stream->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("message 1"));
  }
  {
    const auto context = Context("wrong");
    EXPECT_EQ(stub->Import(context.get(), &response)->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  }
  EXPECT_EQ(jobs(), 0);
  const auto context = Context();
  const auto stream = stub->Import(context.get(), &response);
  ASSERT_TRUE(stream->Write(header) && stream->Write(batch) && stream->Write(batch) && stream->WritesDone());
  const grpc::Status status = stream->Finish();
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.points(), 6);
  EXPECT_EQ(jobs(), 1);
  v1::QueryJobsRequest query;
  query.add_job_ids(response.job_id());
  query.mutable_query()->set_max_buckets(2);
  v1::QueryJobsResponse curves;
  ASSERT_TRUE(stub->QueryJobs(Context().get(), query, &curves).ok());
  EXPECT_EQ(curves.jobs(0).buckets(0).buckets(1).last_step(), 3);
  v1::ListJobsSeriesRequest list;
  list.add_job_ids(response.job_id());
  list.add_job_ids(response.job_id());
  v1::ListJobsSeriesResponse series;
  ASSERT_TRUE(stub->ListJobsSeries(Context().get(), list, &series).ok());
  ASSERT_EQ(series.jobs_size(), 2);
  EXPECT_EQ(series.jobs(1).series(0).count(), 6);
  list.add_job_ids("0zzzzzzzzzzz");
  EXPECT_EQ(stub->ListJobsSeries(Context().get(), list, &series).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ApiTest, AWatcherThatLeavesIsForgotten) {
  const std::string id = Submit();
  for (int i = 0; i < 50; ++i) {
    const auto context = Context();
    v1::WatchJobRequest request;
    request.set_id(id);
    const auto watch = jobs_->Watch(context.get(), request);
    v1::WatchJobResponse update;
    ASSERT_TRUE(watch->Read(&update));
    context->TryCancel();
    EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  EXPECT_EQ(rig_.State(id), v1::JOB_STATE_STARTING);
}

TEST_F(ApiTest, RunnersWithoutTheSecretAreRefused) {
  const std::string id = Submit();
  v1::RunnerHello hello = rig_.Hello(id);
  hello.set_secret("guess");
  Runner runner(channel_, hello);
  EXPECT_FALSE(runner.attached());
  EXPECT_EQ(runner.Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(ApiTest, Info) {
  v1::SystemInfo info;
  const auto stub = v1::SystemService::NewStub(channel_);
  const std::string id = Submit();
  ASSERT_TRUE(stub->GetInfo(Context().get(), {}, &info).ok());
  EXPECT_EQ(info.address(), server_->address());
  ASSERT_EQ(info.slots_size(), 2);
  EXPECT_EQ(info.slots(1).job_id(), id);
}

TEST_F(ApiTest, ListenAddresses) {
  for (const char* wrong : {"0.0.0.0:0", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", ":5", "10.0.0.1:5"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ApiServer::Start(api_, {}, wrong).status())) << wrong;
  }
  const auto taken = ApiServer::Start(api_, {}, server_->address());
  ASSERT_FALSE(taken.ok());
  EXPECT_THAT(std::string(taken.status().message()), HasSubstr("is the port in use?"));
}

}  // namespace
}  // namespace ddp
