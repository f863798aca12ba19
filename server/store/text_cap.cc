#include "server/store/text_cap.h"

#include "common/status_macros.h"

namespace ddp {

absl::Status TextCap::Prepare(Database& database) {
  DDP_RETURN_IF_ERROR(rows_.Prepare(database, "texts", kMaxTexts));
  DDP_ASSIGN_OR_RETURN(delete_earliest_,
                       database.Prepare("DELETE FROM texts WHERE (job_id, series, step, attempt) IN (SELECT job_id, "
                                        "series, step, attempt FROM texts WHERE job_id=?1 ORDER BY step LIMIT ?2)"));
  return absl::OkStatus();
}

absl::Status TextCap::Added(const std::string& job_id, int64_t rows) {
  DDP_ASSIGN_OR_RETURN(const bool above, rows_.Added(job_id, rows));
  if (!above) return absl::OkStatus();
  DDP_ASSIGN_OR_RETURN(const int64_t left, rows_.DeleteSuperseded(job_id));
  if (left <= kMaxTexts) return absl::OkStatus();
  delete_earliest_.BindText(1, job_id);
  delete_earliest_.BindInt(2, left - kMaxTexts * 9 / 10);
  DDP_RETURN_IF_ERROR(delete_earliest_.Run());
  return rows_.Count(job_id).status();
}

}  // namespace ddp
