// How many rows of a job there are in one table, known without counting each time. Used by the caps, inside the
// writer's transactions.
#ifndef DDP_SERVER_STORE_ROW_CAP_H_
#define DDP_SERVER_STORE_ROW_CAP_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/sqlite.h"

namespace ddp {

// Not thread-safe.
class RowCap {
 public:
  // table: has the columns job_id, step, attempt. limit: of a job's rows.
  absl::Status Prepare(Database& database, const std::string& table, int64_t limit);
  // To be called after rows have been added to a job. Whether it has more than the limit.
  absl::StatusOr<bool> Added(const std::string& job_id, int64_t rows);
  // Deletes what nobody can read any more, since a later attempt has superseded it. The number of rows that are left.
  absl::StatusOr<int64_t> DeleteSuperseded(const std::string& job_id);
  // To be called after rows have been deleted. The number of rows.
  absl::StatusOr<int64_t> Count(const std::string& job_id);
  // Counts again with the next Added: the job has been deleted, or a transaction has failed.
  void Forget(const std::string& job_id) { rows_.erase(job_id); }
  void ForgetAll() { rows_.clear(); }

 private:
  int64_t limit_ = 0;
  std::map<std::string, int64_t> rows_;  // by job; never less than there are
  Statement count_;
  Statement delete_superseded_;
};

}  // namespace ddp

#endif  // DDP_SERVER_STORE_ROW_CAP_H_
