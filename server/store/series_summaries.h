// What ListSeries tells of each series of points, kept beside the points: a page asks for it of every job that it
// shows, and reading all points for it would make a comparison of long jobs slow. Used by the writer, inside its
// transactions.
#ifndef DDP_SERVER_STORE_SERIES_SUMMARIES_H_
#define DDP_SERVER_STORE_SERIES_SUMMARIES_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ddp/v1/metric.pb.h"
#include "server/store/raw_columns.h"
#include "server/store/sqlite.h"

namespace ddp {

// Takes one more point, in the order of arrival. A new summary has NaN as min and max.
void AddToSummary(const Point& point, v1::SeriesSummary& summary);
v1::SeriesSummary NewSummary();

// What later attempts leave of the points of each: the greatest step that counts. `last`: of the newest one.
inline constexpr char kAttemptStarts[] =
    "SELECT attempt, min(start_step) FROM metric_chunks WHERE job_id=?1 GROUP BY attempt ORDER BY attempt DESC";
absl::StatusOr<std::map<int32_t, int64_t>> LastSteps(Statement& attempt_starts, const std::string& job_id,
                                                     int64_t last = std::numeric_limits<int64_t>::max());

// Of the merged view. When an attempt begins that went on from before what earlier ones have reported, the job is
// summed up again, once, from its points; so that reading never has to. Not thread-safe.
class SeriesSummaries {
 public:
  absl::Status Prepare(Database& database);
  // To be called before the chunk is stored. A batch that cannot be read adds nothing; who reads the points says so.
  absl::Status Add(const std::string& job_id, int32_t attempt, int64_t start_step, std::string_view batch);
  // Writes what has been added; to be called before each commit.
  absl::Status Flush();
  // From the stored points.
  absl::Status Rebuild(const std::string& job_id);
  // Drops what has been added and not been written: the job has been deleted, or the transaction has failed.
  void Forget(const std::string& job_id) { jobs_.erase(job_id); }
  void ForgetAll() { jobs_.clear(); }

 private:
  using BySeries = std::map<std::string, v1::SeriesSummary, std::less<>>;
  struct Job {
    int32_t attempt = 0;  // of its newest chunk
    BySeries series;      // those that have been touched
  };

  absl::StatusOr<Job*> Find(const std::string& job_id);
  absl::Status FlushJob(const std::string& job_id, const Job& job);
  // last_step_of_all: what an attempt of which nothing is stored yet leaves of all others.
  absl::Status RebuildUpTo(const std::string& job_id, int64_t last_step_of_all);
  // Whether a new attempt that went on from there makes the summaries wrong.
  absl::StatusOr<bool> MustRebuild(const std::string& job_id, int64_t start_step);
  absl::StatusOr<v1::SeriesSummary*> Touch(const std::string& job_id, std::string_view series, BySeries& all);

  std::map<std::string, Job> jobs_;  // touched in this transaction
  std::vector<Point> points_;        // of one column
  Statement newest_attempt_;
  Statement one_;
  Statement all_;
  Statement put_;
  Statement delete_all_;
  Statement attempt_starts_;
  Statement chunks_;
};

// For files of older schemas: all jobs.
absl::Status SummarizeAllJobs(Database& database);

}  // namespace ddp

#endif  // DDP_SERVER_STORE_SERIES_SUMMARIES_H_
