// Reads what has been committed, on connections of its own, so that readers and the writer do not wait for each other.
#ifndef DDP_SERVER_STORE_READER_H_
#define DDP_SERVER_STORE_READER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "ddp/v1/job.pb.h"
#include "server/store/records.h"
#include "server/store/sqlite.h"

namespace ddp {

// Thread-safe: one call at a time inside, and beside it one ForEachChunk.
class Reader {
 public:
  // scans: a second connection, for what takes long.
  static absl::StatusOr<std::unique_ptr<Reader>> Make(Database database, Database scans);

  // All jobs with their attempts, oldest id first.
  absl::StatusOr<std::vector<JobRecord>> Jobs();
  // Events with after < seq <= up_to, in order.
  absl::StatusOr<std::vector<v1::JobEvent>> Events(const std::string& job_id, uint64_t after, uint64_t up_to);
  // Chunks with after < seq <= up_to, in order; stops early once about max_bytes have been read (at least one chunk).
  absl::StatusOr<std::vector<MetricChunk>> Chunks(const std::string& job_id, uint64_t after, uint64_t up_to,
                                                  size_t max_bytes);
  // All chunks of a job, in order, as they are at one moment. `take` must not call the reader; its error ends it.
  absl::Status ForEachChunk(const std::string& job_id, absl::FunctionRef<absl::Status(const ChunkView&)> take);
  // 0: none.
  absl::StatusOr<uint64_t> LastChunk(const std::string& job_id);
  // Of the points in the merged view, by series.
  absl::StatusOr<std::vector<v1::SeriesSummary>> SeriesSummaries(const std::string& job_id);
  // What later attempts leave of the points of each attempt: the greatest step that counts.
  absl::StatusOr<std::map<int32_t, int64_t>> LastSteps(const std::string& job_id);
  // Jobs that ended at most then (microseconds) and have not been thinned out, by id.
  absl::StatusOr<std::vector<EndedJob>> UnthinnedJobs(int64_t before);
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
  // By series.
  absl::StatusOr<std::vector<SeriesExtent>> TextExtents(const std::string& job_id);
  // Of one series and first <= step <= last, by step, in the merged view as above; of the attempts that have logged at
  // one step, the latest. `take` must not call the reader; its error ends it.
  absl::Status ForEachText(const std::string& job_id, const std::string& series, int64_t first, int64_t last,
                           absl::FunctionRef<absl::Status(v1::Text)> take);

 private:
  static absl::StatusOr<std::vector<SeriesExtent>> Extents(Statement& statement, const std::string& job_id);
  Reader(Database database, Database scans) : database_(std::move(database)), scans_(std::move(scans)) {}
  absl::Status Prepare();
  absl::Status ReadAttempts(JobRecord& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::mutex mutex_;
  Database database_ ABSL_GUARDED_BY(mutex_);
  Statement jobs_ ABSL_GUARDED_BY(mutex_);
  Statement attempts_ ABSL_GUARDED_BY(mutex_);
  Statement events_ ABSL_GUARDED_BY(mutex_);
  Statement chunks_ ABSL_GUARDED_BY(mutex_);
  Statement series_summaries_ ABSL_GUARDED_BY(mutex_);
  Statement attempt_starts_ ABSL_GUARDED_BY(mutex_);
  Statement unthinned_jobs_ ABSL_GUARDED_BY(mutex_);
  Statement last_chunk_ ABSL_GUARDED_BY(mutex_);
  Statement histogram_series_ ABSL_GUARDED_BY(mutex_);
  Statement histogram_extents_ ABSL_GUARDED_BY(mutex_);
  Statement histogram_keys_ ABSL_GUARDED_BY(mutex_);
  Statement histogram_ ABSL_GUARDED_BY(mutex_);
  Statement text_extents_ ABSL_GUARDED_BY(mutex_);
  Statement texts_ ABSL_GUARDED_BY(mutex_);

  std::mutex scan_mutex_;
  Database scans_ ABSL_GUARDED_BY(scan_mutex_);
  Statement all_chunks_ ABSL_GUARDED_BY(scan_mutex_);
};

}  // namespace ddp

#endif  // DDP_SERVER_STORE_READER_H_
