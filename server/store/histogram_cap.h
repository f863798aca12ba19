// How many histograms of a job stay: a job that reports more and more of them is thinned out, evenly from its first
// step to its newest, and the file stops growing. Used by the writer, inside its transactions.
#ifndef DDP_SERVER_STORE_HISTOGRAM_CAP_H_
#define DDP_SERVER_STORE_HISTOGRAM_CAP_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/store/row_cap.h"
#include "server/store/sqlite.h"

namespace ddp {

// Of one job. A row has 150 to 300 bytes, so they stay below 30 MB; and of a model of 250 tensors, with a series for
// each parameter and each gradient, at least 50 steps stay.
inline constexpr int64_t kMaxHistograms = 100'000;

// The distance between the steps that stay when at most `limit` (> 0) of `steps` (rising) may: the greatest common one
// of all, doubled until they fit. Counted from the first, so that what stays is evenly spaced, also when it was thinned
// before. 0: there is only one step.
int64_t HistogramStride(const std::vector<int64_t>& steps, size_t limit);

// Not thread-safe.
class HistogramCap {
 public:
  absl::Status Prepare(Database& database);
  // To be called after rows have been added to a job. Above kMaxHistograms it deletes those that nobody can read any
  // more (a later attempt has superseded them), and of the others about every second step, but never the newest.
  absl::Status Added(const std::string& job_id, int64_t rows);
  // Counts again with the next Added: the job has been deleted, or a transaction has failed.
  void Forget(const std::string& job_id) { rows_.Forget(job_id); }
  void ForgetAll() { rows_.ForgetAll(); }

 private:
  absl::Status Thin(const std::string& job_id);

  RowCap rows_;
  Statement steps_;
  Statement delete_between_;
};

}  // namespace ddp

#endif  // DDP_SERVER_STORE_HISTOGRAM_CAP_H_
