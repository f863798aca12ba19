#include "ddp/v1/metric.grpc.pb.h"
#include "server/api/services.h"
#include "server/api/stream_reactor.h"
#include "server/metrics/histograms.h"
#include "server/metrics/query.h"
#include "server/metrics/subscription.h"

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
      return QueryMetrics(api_.reader, complete);
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
    return new StreamReactor<MetricSubscription, v1::StreamMetricsResponse>(
        api_, context,
        [this, id = request->job_id(), after = request->after_seq()](std::function<void()> wake) -> Source {
          const absl::StatusOr<v1::Job> job = api_.manager.Get(id);
          if (!job.ok()) return job.status();
          return api_.hub.Subscribe(job->id(), after, std::move(wake));
        });
  }

 private:
  ApiContext& api_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeMetricService(ApiContext& api) { return std::make_unique<MetricServiceImpl>(api); }

}  // namespace ddp
