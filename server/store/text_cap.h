// How many texts of a job stay: of one that logs more and more of them the earliest steps go. Used by the writer,
// inside its transactions.
#ifndef DDP_SERVER_STORE_TEXT_CAP_H_
#define DDP_SERVER_STORE_TEXT_CAP_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "server/store/row_cap.h"
#include "server/store/sqlite.h"

namespace ddp {

// Of one job.
inline constexpr int64_t kMaxTexts = 10'000;

// Not thread-safe.
class TextCap {
 public:
  absl::Status Prepare(Database& database);
  // To be called after rows have been added to a job. Above kMaxTexts it deletes those that a later attempt has
  // superseded, and then the earliest, so that nine tenths of kMaxTexts are left.
  absl::Status Added(const std::string& job_id, int64_t rows);
  // Counts again with the next Added: the job has been deleted, or a transaction has failed.
  void Forget(const std::string& job_id) { rows_.Forget(job_id); }
  void ForgetAll() { rows_.ForgetAll(); }

 private:
  RowCap rows_;
  Statement delete_earliest_;
};

}  // namespace ddp

#endif  // DDP_SERVER_STORE_TEXT_CAP_H_
