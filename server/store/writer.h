// Applies write batches to one connection with prepared statements. Used by the store's writer thread only.
#ifndef DDP_SERVER_STORE_WRITER_H_
#define DDP_SERVER_STORE_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/histogram_cap.h"
#include "server/store/series_summaries.h"
#include "server/store/sqlite.h"
#include "server/store/text_cap.h"
#include "server/store/write_batch.h"

namespace ddp {

// Not thread-safe.
class Writer {
 public:
  static absl::StatusOr<std::unique_ptr<Writer>> Make(Database database);

  // Commits all batches in one transaction and returns one status per batch. When that fails, each batch is tried in a
  // transaction of its own, so that one refused batch does not take the others with it.
  std::vector<absl::Status> CommitGroup(const std::vector<const WriteBatch*>& batches);

 private:
  explicit Writer(Database database) : database_(std::move(database)) {}
  absl::Status Prepare();
  absl::Status CommitTogether(const std::vector<const WriteBatch*>& batches);
  absl::Status Apply(const WriteBatch& batch);
  absl::Status Apply(const writes::PutJob& write);
  absl::Status Apply(const writes::PutAttempt& write);
  absl::Status Apply(const writes::AddEvent& write);
  absl::Status Apply(const writes::AddChunk& write);
  absl::Status Apply(const writes::ThinChunks& write);
  absl::Status Apply(const writes::AddHistograms& write);
  absl::Status Apply(const writes::AddTexts& write);
  absl::Status Apply(const writes::SetProgress& write);
  absl::Status Apply(const writes::Acknowledge& write);
  absl::Status Apply(const writes::DeleteJob& write);
  // Notes that an attempt has reported metrics, once.
  absl::Status NoteMetricAttempt(const std::string& job_id, int32_t attempt, int64_t start_step);

  Database database_;
  Statement put_job_;
  Statement put_attempt_;
  Statement add_event_;
  Statement add_chunk_;
  Statement note_thinned_;
  Statement replace_chunk_;
  Statement delete_chunk_;
  Statement note_metric_attempt_;
  Statement add_histogram_;
  Statement add_text_;
  Statement set_progress_;
  Statement acknowledge_;
  Statement delete_job_;
  HistogramCap histogram_cap_;
  TextCap text_cap_;
  SeriesSummaries summaries_;
};

}  // namespace ddp

#endif  // DDP_SERVER_STORE_WRITER_H_
