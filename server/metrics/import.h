// Points that were measured elsewhere, on their way to become a job.
#ifndef DDP_SERVER_METRICS_IMPORT_H_
#define DDP_SERVER_METRICS_IMPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ddp/v1/metric.pb.h"
#include "ddp/v1/spec.pb.h"
#include "server/metrics/columns.h"
#include "server/store/write_batch.h"

namespace ddp {

// All of it is one commit, so it is held in memory until the last message has come.
inline constexpr size_t kLargestMetricsImport = size_t{256} << 20;

// Not thread-safe.
class MetricsImport {
 public:
  // The next message. InvalidArgument names it and says what is wrong with it.
  absl::Status Take(const v1::ImportMetricsRequest& message, size_t max_bytes = kLargestMetricsImport);
  // InvalidArgument when there was no message.
  absl::Status Finish();

  // After Finish:
  const v1::JobSpec& spec() const { return spec_; }
  const std::string& request_id() const { return request_id_; }
  // Of everything but the request_id: tells a replay from a clash.
  const std::string& hash() const { return hash_; }
  int64_t last_step() const { return last_step_; }
  // The points of the one attempt that such a job has.
  void AddTo(WriteBatch& batch, const std::string& job_id) const;
  // Without the job's id.
  const v1::ImportMetricsResponse& counts() const { return counts_; }

 private:
  absl::Status TakeHeader(const v1::ImportMetricsHeader& header);
  // Of all messages up to here.
  void AddToHash(const std::string& bytes);
  absl::Status TakeBatch(const v1::ImportMetricsBatch& batch);

  int messages_ = 0;
  size_t bytes_ = 0;
  v1::JobSpec spec_;
  std::string request_id_;
  std::string hash_;
  int64_t last_step_ = 0;
  std::vector<std::string> chunks_;  // serialized MetricBatches
  std::vector<v1::Histogram> histograms_;
  std::vector<v1::Text> texts_;
  v1::ImportMetricsResponse counts_;
};

}  // namespace ddp

#endif  // DDP_SERVER_METRICS_IMPORT_H_
