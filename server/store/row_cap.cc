#include "server/store/row_cap.h"

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ddp {

absl::Status RowCap::Prepare(Database& database, const std::string& table, int64_t limit) {
  limit_ = limit;
  DDP_ASSIGN_OR_RETURN(count_, database.Prepare(absl::StrCat("SELECT count(*) FROM ", table, " WHERE job_id=?1")));
  // The same rule as the reader's.
  DDP_ASSIGN_OR_RETURN(delete_superseded_,
                       database.Prepare(absl::StrCat("DELETE FROM ", table,
                                                     " WHERE job_id=?1 AND EXISTS(SELECT 1 FROM metric_attempts AS "
                                                     "later WHERE later.job_id=?1 AND later.attempt>",
                                                     table, ".attempt AND later.start_step<", table, ".step)")));
  return absl::OkStatus();
}

absl::StatusOr<bool> RowCap::Added(const std::string& job_id, int64_t rows) {
  const auto known = rows_.find(job_id);
  if (known != rows_.end()) {
    known->second += rows;
    if (known->second <= limit_) return false;
  }
  DDP_ASSIGN_OR_RETURN(const int64_t counted, Count(job_id));
  return counted > limit_;
}

absl::StatusOr<int64_t> RowCap::DeleteSuperseded(const std::string& job_id) {
  delete_superseded_.BindText(1, job_id);
  DDP_RETURN_IF_ERROR(delete_superseded_.Run());
  return Count(job_id);
}

absl::StatusOr<int64_t> RowCap::Count(const std::string& job_id) {
  auto reset = absl::MakeCleanup([this] { count_.Reset(); });
  count_.BindText(1, job_id);
  DDP_RETURN_IF_ERROR(count_.Step().status());
  return rows_[job_id] = count_.Int(0);
}

}  // namespace ddp
