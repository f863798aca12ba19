#include "server/store/text_cap.h"

#include "absl/cleanup/cleanup.h"
#include "common/status_macros.h"

namespace ddp {

absl::Status TextCap::Prepare(Database& database) {
  DDP_ASSIGN_OR_RETURN(count_, database.Prepare("SELECT count(*) FROM texts WHERE job_id=?1"));
  // The same rule as the reader's.
  DDP_ASSIGN_OR_RETURN(delete_superseded_,
                       database.Prepare("DELETE FROM texts WHERE job_id=?1 AND EXISTS(SELECT 1 FROM "
                                        "metric_attempts AS later WHERE later.job_id=?1 AND "
                                        "later.attempt>texts.attempt AND later.start_step<texts.step)"));
  DDP_ASSIGN_OR_RETURN(delete_earliest_,
                       database.Prepare("DELETE FROM texts WHERE (job_id, series, step, attempt) IN (SELECT job_id, "
                                        "series, step, attempt FROM texts WHERE job_id=?1 ORDER BY step LIMIT ?2)"));
  return absl::OkStatus();
}

absl::Status TextCap::Added(const std::string& job_id, int64_t rows) {
  const auto known = rows_.find(job_id);
  if (known != rows_.end()) {
    known->second += rows;
    if (known->second <= kMaxTexts) return absl::OkStatus();
  }
  int64_t counted = 0;
  DDP_RETURN_IF_ERROR(Count(job_id, &counted));
  if (counted > kMaxTexts) {
    delete_superseded_.BindText(1, job_id);
    DDP_RETURN_IF_ERROR(delete_superseded_.Run());
    DDP_RETURN_IF_ERROR(Count(job_id, &counted));
  }
  if (counted > kMaxTexts) {
    delete_earliest_.BindText(1, job_id);
    delete_earliest_.BindInt(2, counted - kMaxTexts * 9 / 10);
    DDP_RETURN_IF_ERROR(delete_earliest_.Run());
    counted = kMaxTexts * 9 / 10;
  }
  rows_[job_id] = counted;
  return absl::OkStatus();
}

absl::Status TextCap::Count(const std::string& job_id, int64_t* rows) {
  auto reset = absl::MakeCleanup([this] { count_.Reset(); });
  count_.BindText(1, job_id);
  DDP_RETURN_IF_ERROR(count_.Step().status());
  *rows = count_.Int(0);
  return absl::OkStatus();
}

}  // namespace ddp
