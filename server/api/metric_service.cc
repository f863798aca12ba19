#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "ddp/v1/metric.grpc.pb.h"
#include "server/api/metric_stream.h"
#include "server/api/services.h"
#include "server/api/stream_reactor.h"
#include "server/api/upload_reactor.h"
#include "server/metrics/histograms.h"
#include "server/metrics/import.h"
#include "server/metrics/query.h"
#include "server/metrics/texts.h"
#include "server/metrics/x_axis.h"

namespace ddp {

namespace {

class ImportSink {
 public:
  explicit ImportSink(JobManager& manager) : manager_(manager) {}

  absl::Status Take(const v1::ImportMetricsRequest& message) { return import_.Take(message); }
  absl::StatusOr<v1::ImportMetricsResponse> Finish() {
    if (const absl::Status status = import_.Finish(); !status.ok()) return status;
    absl::StatusOr<JobManager::ImportedJob> job = manager_.Import(import_);
    if (!job.ok()) return job.status();
    job_ = *std::move(job);
    v1::ImportMetricsResponse response = import_.counts();
    response.set_job_id(job_.id);
    return response;
  }
  void Undo() {
    if (!job_.made) return;
    const absl::Status status = manager_.Delete(job_.id);
    if (!status.ok()) LogWarning(absl::StrCat("an import that broke off stays: ", std::string(status.message())));
  }

 private:
  JobManager& manager_;
  MetricsImport import_;
  JobManager::ImportedJob job_;
};

// Stream is raw: its messages are bytes that many streams share.
using MetricServiceBase = v1::MetricService::WithRawCallbackMethod_Stream<v1::MetricService::CallbackService>;

class MetricServiceImpl final : public MetricServiceBase {
 public:
  explicit MetricServiceImpl(ApiContext& api) : api_(api) {}

  grpc::ServerUnaryReactor* ListSeries(grpc::CallbackServerContext* context, const v1::ListSeriesRequest* request,
                                       v1::ListSeriesResponse* response) override {
    return UnaryOr(api_, context, response, [this, request]() -> absl::StatusOr<v1::ListSeriesResponse> {
      const absl::StatusOr<v1::Job> job = api_.manager.Get(request->job_id());
      if (!job.ok()) return job.status();
      return ddp::ListSeries(api_.reader, job->id());
    });
  }
  grpc::ServerUnaryReactor* Query(grpc::CallbackServerContext* context, const v1::QueryMetricsRequest* request,
                                  v1::QueryMetricsResponse* response) override {
    return UnaryOr(api_, context, response, [this, request]() -> absl::StatusOr<v1::QueryMetricsResponse> {
      const absl::StatusOr<v1::Job> job = api_.manager.Get(request->job_id());
      if (!job.ok()) return job.status();
      v1::QueryMetricsRequest complete = *request;
      complete.set_job_id(job->id());
      return QueryMetrics(api_.reader, complete, StepsPerEpoch(*job));
    });
  }
  grpc::ServerUnaryReactor* Texts(grpc::CallbackServerContext* context, const v1::QueryTextsRequest* request,
                                  v1::QueryTextsResponse* response) override {
    return UnaryOr(api_, context, response, [this, request]() -> absl::StatusOr<v1::QueryTextsResponse> {
      const absl::StatusOr<v1::Job> job = api_.manager.Get(request->job_id());
      if (!job.ok()) return job.status();
      v1::QueryTextsRequest complete = *request;
      complete.set_job_id(job->id());
      return QueryTexts(api_.reader, complete);
    });
  }
  grpc::ServerUnaryReactor* QueryJobs(grpc::CallbackServerContext* context, const v1::QueryJobsRequest* request,
                                      v1::QueryJobsResponse* response) override {
    return UnaryOr(api_, context, response, [this, request]() -> absl::StatusOr<v1::QueryJobsResponse> {
      if (const absl::Status status = ValidateQueryJobs(*request); !status.ok()) return status;
      const absl::StatusOr<std::vector<v1::Job>> jobs = Jobs(request->job_ids());
      if (!jobs.ok()) return jobs.status();
      return ddp::QueryJobs(api_.reader, *jobs, request->query());
    });
  }
  grpc::ServerUnaryReactor* ListJobsSeries(grpc::CallbackServerContext* context,
                                           const v1::ListJobsSeriesRequest* request,
                                           v1::ListJobsSeriesResponse* response) override {
    return UnaryOr(api_, context, response, [this, request]() -> absl::StatusOr<v1::ListJobsSeriesResponse> {
      if (request->job_ids_size() > kMaxListedJobs) {
        return absl::InvalidArgumentError(absl::StrCat("job_ids has ", request->job_ids_size(), " entries; at most ",
                                                       kMaxListedJobs, " are allowed"));
      }
      const absl::StatusOr<std::vector<v1::Job>> jobs = Jobs(request->job_ids());
      if (!jobs.ok()) return jobs.status();
      v1::ListJobsSeriesResponse all;
      for (const v1::Job& job : *jobs) {
        absl::StatusOr<v1::ListSeriesResponse> one = ddp::ListSeries(api_.reader, job.id());
        if (!one.ok()) return one.status();
        *all.add_jobs() = *std::move(one);
      }
      return all;
    });
  }
  grpc::ServerUnaryReactor* Histograms(grpc::CallbackServerContext* context, const v1::QueryHistogramsRequest* request,
                                       v1::QueryHistogramsResponse* response) override {
    return UnaryOr(api_, context, response, [this, request]() -> absl::StatusOr<v1::QueryHistogramsResponse> {
      const absl::StatusOr<v1::Job> job = api_.manager.Get(request->job_id());
      if (!job.ok()) return job.status();
      v1::QueryHistogramsRequest complete = *request;
      complete.set_job_id(job->id());
      return QueryHistograms(api_.reader, complete);
    });
  }
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Stream(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* bytes) override {
    using Source = absl::StatusOr<std::unique_ptr<MetricStream>>;
    return StreamReactor<MetricStream, grpc::ByteBuffer>::Start(
        api_, context, [this, bytes = *bytes](std::function<void()> wake) mutable -> Source {
          v1::StreamMetricsRequest request;
          if (!grpc::SerializationTraits<v1::StreamMetricsRequest>::Deserialize(&bytes, &request).ok()) {
            return absl::InvalidArgumentError("the message is no StreamMetricsRequest");
          }
          const absl::StatusOr<v1::Job> job = api_.manager.Get(request.job_id());
          if (!job.ok()) return job.status();
          return std::make_unique<MetricStream>(api_.hub.Subscribe(job->id(), request.after_seq(), std::move(wake)));
        });
  }

  grpc::ServerReadReactor<v1::ImportMetricsRequest>* Import(grpc::CallbackServerContext* context,
                                                            v1::ImportMetricsResponse* response) override {
    return UploadReactor<ImportSink, v1::ImportMetricsRequest, v1::ImportMetricsResponse>::Start(
        api_, context, response, std::make_unique<ImportSink>(api_.manager));
  }

 private:
  absl::StatusOr<std::vector<v1::Job>> Jobs(const google::protobuf::RepeatedPtrField<std::string>& ids) {
    std::vector<v1::Job> jobs;
    for (const std::string& id : ids) {
      absl::StatusOr<v1::Job> job = api_.manager.Get(id);
      if (!job.ok()) return job.status();
      jobs.push_back(*std::move(job));
    }
    return jobs;
  }

  ApiContext& api_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeMetricService(ApiContext& api) { return std::make_unique<MetricServiceImpl>(api); }

}  // namespace ddp
