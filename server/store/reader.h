// Reads what has been committed, on a connection of its own, so that readers and the writer do not wait for each other.
#ifndef DDP_SERVER_STORE_READER_H_
#define DDP_SERVER_STORE_READER_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "ddp/v1/job.pb.h"
#include "server/store/records.h"
#include "server/store/sqlite.h"

namespace ddp {

// Thread-safe: one call at a time inside.
class Reader {
 public:
  static absl::StatusOr<std::unique_ptr<Reader>> Make(Database database);

  // All jobs with their attempts, oldest id first.
  absl::StatusOr<std::vector<JobRecord>> Jobs();
  // Events with after < seq <= up_to, in order.
  absl::StatusOr<std::vector<v1::JobEvent>> Events(const std::string& job_id, uint64_t after, uint64_t up_to);
  // Chunks with after < seq <= up_to, in order; stops early once about max_bytes have been read (at least one chunk).
  absl::StatusOr<std::vector<MetricChunk>> Chunks(const std::string& job_id, uint64_t after, uint64_t up_to,
                                                  size_t max_bytes);
  // 0: none.
  absl::StatusOr<uint64_t> LastChunk(const std::string& job_id);
  // Names of all series that a job has histograms of, sorted.
  absl::StatusOr<std::vector<std::string>> HistogramSeries(const std::string& job_id);
  // By series.
  absl::StatusOr<std::vector<SeriesExtent>> HistogramExtents(const std::string& job_id);
  // Of one series and first <= step <= last, by step. Left out are those that a later attempt has superseded: with its
  // first metrics, it replaces all that lies after its start step.
  absl::StatusOr<std::vector<HistogramKey>> HistogramKeys(const std::string& job_id, const std::string& series,
                                                          int64_t first, int64_t last);
  // Unset: it has been deleted meanwhile.
  absl::StatusOr<std::optional<v1::Histogram>> Histogram(const std::string& job_id, const std::string& series,
                                                         const HistogramKey& key);

 private:
  explicit Reader(Database database) : database_(std::move(database)) {}
  absl::Status Prepare();
  absl::Status ReadAttempts(JobRecord& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::mutex mutex_;
  Database database_ ABSL_GUARDED_BY(mutex_);
  Statement jobs_ ABSL_GUARDED_BY(mutex_);
  Statement attempts_ ABSL_GUARDED_BY(mutex_);
  Statement events_ ABSL_GUARDED_BY(mutex_);
  Statement chunks_ ABSL_GUARDED_BY(mutex_);
  Statement last_chunk_ ABSL_GUARDED_BY(mutex_);
  Statement histogram_series_ ABSL_GUARDED_BY(mutex_);
  Statement histogram_extents_ ABSL_GUARDED_BY(mutex_);
  Statement histogram_keys_ ABSL_GUARDED_BY(mutex_);
  Statement histogram_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ddp

#endif  // DDP_SERVER_STORE_READER_H_
