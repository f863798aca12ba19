#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ddp/v1/metric.grpc.pb.h"
#include "server/api/services.h"
#include "server/api/stream_reactor.h"
#include "server/metrics/histograms.h"
#include "server/metrics/query.h"
#include "server/metrics/subscription.h"
#include "server/metrics/x_axis.h"

namespace ddp {

namespace {

class MetricServiceImpl final : public v1::MetricService::CallbackService {
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
  grpc::ServerWriteReactor<v1::StreamMetricsResponse>* Stream(grpc::CallbackServerContext* context,
                                                              const v1::StreamMetricsRequest* request) override {
    using Source = absl::StatusOr<std::unique_ptr<MetricSubscription>>;
    return StreamReactor<MetricSubscription, v1::StreamMetricsResponse>::Start(
        api_, context,
        [this, id = request->job_id(), after = request->after_seq()](std::function<void()> wake) -> Source {
          const absl::StatusOr<v1::Job> job = api_.manager.Get(id);
          if (!job.ok()) return job.status();
          return api_.hub.Subscribe(job->id(), after, std::move(wake));
        });
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
