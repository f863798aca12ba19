#include "server/store/schema.h"

#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "server/store/series_summaries.h"

namespace ddp {
namespace {

// Never edit a step that has been released: append the next one. Times are microseconds since the Unix epoch, messages
// are serialized protobufs. Columns exist for what a query or a constraint needs; the rest lives in the messages.
constexpr const char* kSteps[] = {
    R"sql(
CREATE TABLE jobs(
  id TEXT PRIMARY KEY,
  request_id TEXT UNIQUE,
  spec_hash BLOB NOT NULL,
  spec BLOB NOT NULL,
  parent_id TEXT NOT NULL,
  init_path TEXT NOT NULL,
  state INTEGER NOT NULL,
  state_reason TEXT NOT NULL,
  create_time INTEGER NOT NULL,
  update_time INTEGER NOT NULL,
  end_time INTEGER,
  progress BLOB NOT NULL,
  restarts INTEGER NOT NULL,
  failures_in_row INTEGER NOT NULL,
  checkpoint_step INTEGER NOT NULL,
  failure BLOB,
  slots TEXT NOT NULL,
  last_event INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE attempts(
  job_id TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  attempt BLOB NOT NULL,
  secret TEXT NOT NULL,
  acked_seq INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(job_id, number)
) WITHOUT ROWID;

CREATE TABLE events(
  job_id TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  event BLOB NOT NULL,
  PRIMARY KEY(job_id, seq)
) WITHOUT ROWID;

CREATE TABLE metric_chunks(
  job_id TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  start_step INTEGER NOT NULL,
  batch BLOB NOT NULL,
  PRIMARY KEY(job_id, seq)
) WITHOUT ROWID;
)sql",
    // The steps from which attempts supersede what lies after them, and histograms. Rows are read series by series.
    R"sql(
CREATE TABLE metric_attempts(
  job_id TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE,
  attempt INTEGER NOT NULL,
  start_step INTEGER NOT NULL,
  PRIMARY KEY(job_id, attempt)
) WITHOUT ROWID;
INSERT INTO metric_attempts SELECT job_id, attempt, min(start_step) FROM metric_chunks GROUP BY job_id, attempt;

CREATE TABLE histograms(
  job_id TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE,
  series TEXT NOT NULL,
  step INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  histogram BLOB NOT NULL,
  PRIMARY KEY(job_id, series, step, attempt)
) WITHOUT ROWID;
)sql",
    // Texts, in the same way.
    R"sql(
CREATE TABLE texts(
  job_id TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE,
  series TEXT NOT NULL,
  step INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  text BLOB NOT NULL,
  PRIMARY KEY(job_id, series, step, attempt)
) WITHOUT ROWID;
)sql",
    // What ListSeries tells, and how far the points of jobs that ended long ago have been thinned out: up_to is the
    // newest chunk that has been, of the job as it ended at end_time.
    R"sql(
CREATE TABLE metric_summaries(
  job_id TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE,
  series TEXT NOT NULL,
  summary BLOB NOT NULL,
  PRIMARY KEY(job_id, series)
) WITHOUT ROWID;

CREATE TABLE metric_retention(
  job_id TEXT PRIMARY KEY REFERENCES jobs(id) ON DELETE CASCADE,
  end_time INTEGER NOT NULL,
  up_to INTEGER NOT NULL,
  done INTEGER NOT NULL
) WITHOUT ROWID;
)sql",
};

// What SQL alone cannot fill.
absl::Status Fill(Database& database, int number) {
  constexpr int kSummaries = 3;
  return number == kSummaries ? SummarizeAllJobs(database) : absl::OkStatus();
}

absl::StatusOr<int64_t> UserVersion(Database& database) {
  DDP_ASSIGN_OR_RETURN(Statement statement, database.Prepare("PRAGMA user_version"));
  DDP_RETURN_IF_ERROR(statement.Step().status());
  return statement.Int(0);
}

absl::Status RunStep(Database& database, int number) {
  DDP_RETURN_IF_ERROR(database.Execute("BEGIN IMMEDIATE"));
  absl::Status status = database.Execute(kSteps[number]);
  if (status.ok()) status = Fill(database, number);
  if (status.ok()) status = database.Execute(absl::StrCat("PRAGMA user_version=", number + 1).c_str());
  if (status.ok()) status = database.Execute("COMMIT");
  if (!status.ok() && database.InTransaction()) (void)database.Execute("ROLLBACK");
  return status;
}

}  // namespace

int SchemaVersion() { return static_cast<int>(std::size(kSteps)); }

absl::Status MigrateSchema(Database& database) {
  DDP_ASSIGN_OR_RETURN(const int64_t version, UserVersion(database));
  if (version > SchemaVersion()) {
    return absl::FailedPreconditionError(absl::StrCat("the store was written by a newer ddpd (schema ", version,
                                                      "; this one knows ", SchemaVersion(),
                                                      "): start that version, or use another --home"));
  }
  for (int number = static_cast<int>(version); number < SchemaVersion(); ++number) {
    DDP_RETURN_IF_ERROR(RunStep(database, number));
  }
  return absl::OkStatus();
}

}  // namespace ddp
