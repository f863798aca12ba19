#include "server/store/reader.h"

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "server/store/convert.h"
#include "server/store/series_summaries.h"

namespace ddp {
namespace {

absl::Status Parse(std::string_view bytes, google::protobuf::MessageLite& message, std::string_view what) {
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the store holds an unreadable ", std::string(what)));
}

int64_t Limit(uint64_t seq) { return seq > INT64_MAX ? INT64_MAX : static_cast<int64_t>(seq); }

}  // namespace

absl::StatusOr<std::unique_ptr<Reader>> Reader::Make(Database database, Database scans) {
  std::unique_ptr<Reader> reader(new Reader(std::move(database), std::move(scans)));
  DDP_RETURN_IF_ERROR(reader->Prepare());
  return reader;
}

absl::Status Reader::Prepare() {
  std::scoped_lock lock(mutex_, scan_mutex_);
  DDP_RETURN_IF_ERROR(database_.Execute("PRAGMA query_only=ON"));
  DDP_RETURN_IF_ERROR(scans_.Execute("PRAGMA query_only=ON"));
  DDP_ASSIGN_OR_RETURN(all_chunks_, scans_.Prepare("SELECT seq, attempt, start_step, batch FROM metric_chunks WHERE "
                                                   "job_id=?1 ORDER BY seq"));
  DDP_ASSIGN_OR_RETURN(jobs_, database_.Prepare("SELECT * FROM jobs ORDER BY id"));
  DDP_ASSIGN_OR_RETURN(attempts_, database_.Prepare("SELECT attempt, secret, acked_seq FROM attempts WHERE job_id=?1 "
                                                    "ORDER BY number"));
  DDP_ASSIGN_OR_RETURN(
      events_, database_.Prepare("SELECT event FROM events WHERE job_id=?1 AND seq>?2 AND seq<=?3 ORDER BY seq"));
  DDP_ASSIGN_OR_RETURN(chunks_,
                       database_.Prepare("SELECT seq, attempt, start_step, batch FROM metric_chunks WHERE job_id=?1 "
                                         "AND seq>?2 AND seq<=?3 ORDER BY seq"));
  DDP_ASSIGN_OR_RETURN(last_chunk_, database_.Prepare("SELECT max(seq) FROM metric_chunks WHERE job_id=?1"));
  DDP_ASSIGN_OR_RETURN(series_summaries_, database_.Prepare("SELECT series, summary FROM metric_summaries WHERE "
                                                            "job_id=?1 ORDER BY series"));
  DDP_ASSIGN_OR_RETURN(attempt_starts_, database_.Prepare(kAttemptStarts));
  DDP_ASSIGN_OR_RETURN(
      unthinned_jobs_,
      database_.Prepare("SELECT jobs.id, jobs.end_time, coalesce(r.up_to,0), coalesce((SELECT max(seq) FROM "
                        "metric_chunks WHERE job_id=jobs.id),0) FROM jobs LEFT JOIN metric_retention AS r ON "
                        "r.job_id=jobs.id AND r.end_time=jobs.end_time WHERE jobs.end_time<=?1 AND "
                        "coalesce(r.done,0)=0 ORDER BY jobs.id"));
  // One look-up per name; a SELECT DISTINCT would walk over every row.
  DDP_ASSIGN_OR_RETURN(
      histogram_series_,
      database_.Prepare("WITH RECURSIVE names(name) AS (SELECT min(series) FROM histograms WHERE job_id=?1 UNION ALL "
                        "SELECT (SELECT min(series) FROM histograms WHERE job_id=?1 AND series>names.name) FROM names "
                        "WHERE name IS NOT NULL) SELECT name FROM names WHERE name IS NOT NULL"));
  const auto extents = [this](const std::string& table) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return database_.Prepare(
        absl::StrCat("SELECT series, count(DISTINCT step), max(step) FROM ", table,
                     " AS all_rows WHERE job_id=?1 AND NOT EXISTS(SELECT 1 FROM metric_attempts AS "
                     "later WHERE later.job_id=?1 AND later.attempt>all_rows.attempt AND "
                     "later.start_step<all_rows.step) GROUP BY series"));
  };
  DDP_ASSIGN_OR_RETURN(histogram_extents_, extents("histograms"));
  DDP_ASSIGN_OR_RETURN(text_extents_, extents("texts"));
  // With max(), the other column is of the row that has it.
  DDP_ASSIGN_OR_RETURN(
      texts_, database_.Prepare("SELECT step, text, max(attempt) FROM texts AS t WHERE job_id=?1 AND series=?2 AND "
                                "step>=?3 AND step<=?4 AND NOT EXISTS(SELECT 1 FROM metric_attempts AS later WHERE "
                                "later.job_id=?1 AND later.attempt>t.attempt AND later.start_step<t.step) GROUP BY "
                                "step ORDER BY step"));
  DDP_ASSIGN_OR_RETURN(
      histogram_keys_,
      database_.Prepare("SELECT step, attempt FROM histograms AS h WHERE job_id=?1 AND series=?2 AND step>=?3 AND "
                        "step<=?4 AND NOT EXISTS(SELECT 1 FROM metric_attempts AS later WHERE later.job_id=?1 AND "
                        "later.attempt>h.attempt AND later.start_step<h.step) ORDER BY step, attempt"));
  DDP_ASSIGN_OR_RETURN(histogram_, database_.Prepare("SELECT histogram FROM histograms WHERE job_id=?1 AND series=?2 "
                                                     "AND step=?3 AND attempt=?4"));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<JobRecord>> Reader::Jobs() {
  std::lock_guard lock(mutex_);
  auto reset = absl::MakeCleanup([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { jobs_.Reset(); });
  std::vector<JobRecord> records;
  while (true) {
    DDP_ASSIGN_OR_RETURN(const bool row, jobs_.Step());
    if (!row) return records;
    JobRecord record;
    v1::Job& job = record.job;
    job.set_id(std::string(jobs_.Bytes(0)));
    record.request_id = std::string(jobs_.Bytes(1));
    record.spec_hash = std::string(jobs_.Bytes(2));
    DDP_RETURN_IF_ERROR(Parse(jobs_.Bytes(3), *job.mutable_spec(), "spec"));
    job.set_parent_id(std::string(jobs_.Bytes(4)));
    record.init_path = std::string(jobs_.Bytes(5));
    job.set_state(static_cast<v1::JobState>(jobs_.Int(6)));
    job.set_state_reason(std::string(jobs_.Bytes(7)));
    *job.mutable_create_time() = FromMicros(jobs_.Int(8));
    *job.mutable_update_time() = FromMicros(jobs_.Int(9));
    if (const int64_t end = jobs_.Int(10); end != 0) *job.mutable_end_time() = FromMicros(end);
    DDP_RETURN_IF_ERROR(Parse(jobs_.Bytes(11), *job.mutable_progress(), "progress"));
    job.set_restarts(static_cast<int>(jobs_.Int(12)));
    record.failures_in_row = static_cast<int>(jobs_.Int(13));
    job.set_checkpoint_step(jobs_.Int(14));
    if (const std::string_view failure = jobs_.Bytes(15); !failure.empty()) {
      DDP_RETURN_IF_ERROR(Parse(failure, *job.mutable_failure(), "failure"));
    }
    record.slots = SplitSlots(std::string(jobs_.Bytes(16)));
    record.last_event = static_cast<uint64_t>(jobs_.Int(17));
    DDP_RETURN_IF_ERROR(ReadAttempts(record));
    records.push_back(std::move(record));
  }
}

absl::Status Reader::ReadAttempts(JobRecord& record) {
  auto reset = absl::MakeCleanup([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { attempts_.Reset(); });
  attempts_.BindText(1, record.job.id());
  while (true) {
    DDP_ASSIGN_OR_RETURN(const bool row, attempts_.Step());
    if (!row) return absl::OkStatus();
    DDP_RETURN_IF_ERROR(Parse(attempts_.Bytes(0), *record.job.add_attempts(), "attempt"));
    record.secret = std::string(attempts_.Bytes(1));
    record.acked_seq = static_cast<uint64_t>(attempts_.Int(2));
  }
}

absl::StatusOr<std::vector<v1::JobEvent>> Reader::Events(const std::string& job_id, uint64_t after, uint64_t up_to) {
  std::lock_guard lock(mutex_);
  auto reset = absl::MakeCleanup([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { events_.Reset(); });
  events_.BindText(1, job_id);
  events_.BindInt(2, Limit(after));
  events_.BindInt(3, Limit(up_to));
  std::vector<v1::JobEvent> events;
  while (true) {
    DDP_ASSIGN_OR_RETURN(const bool row, events_.Step());
    if (!row) return events;
    DDP_RETURN_IF_ERROR(Parse(events_.Bytes(0), events.emplace_back(), "event"));
  }
}

absl::StatusOr<std::vector<MetricChunk>> Reader::Chunks(const std::string& job_id, uint64_t after, uint64_t up_to,
                                                        size_t max_bytes) {
  std::lock_guard lock(mutex_);
  auto reset = absl::MakeCleanup([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { chunks_.Reset(); });
  chunks_.BindText(1, job_id);
  chunks_.BindInt(2, Limit(after));
  chunks_.BindInt(3, Limit(up_to));
  std::vector<MetricChunk> chunks;
  size_t bytes = 0;
  while (bytes < max_bytes || chunks.empty()) {
    DDP_ASSIGN_OR_RETURN(const bool row, chunks_.Step());
    if (!row) break;
    MetricChunk& chunk = chunks.emplace_back();
    chunk.seq = static_cast<uint64_t>(chunks_.Int(0));
    chunk.attempt = static_cast<int32_t>(chunks_.Int(1));
    chunk.start_step = chunks_.Int(2);
    chunk.batch = std::string(chunks_.Bytes(3));
    bytes += chunk.batch.size();
  }
  return chunks;
}

absl::Status Reader::ForEachChunk(const std::string& job_id, absl::FunctionRef<absl::Status(const ChunkView&)> take) {
  std::lock_guard lock(scan_mutex_);
  auto reset = absl::MakeCleanup([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { all_chunks_.Reset(); });
  all_chunks_.BindText(1, job_id);
  while (true) {
    DDP_ASSIGN_OR_RETURN(const bool row, all_chunks_.Step());
    if (!row) return absl::OkStatus();
    DDP_RETURN_IF_ERROR(take({static_cast<uint64_t>(all_chunks_.Int(0)), static_cast<int32_t>(all_chunks_.Int(1)),
                              all_chunks_.Int(2), all_chunks_.Bytes(3)}));
  }
}

absl::StatusOr<uint64_t> Reader::LastChunk(const std::string& job_id) {
  std::lock_guard lock(mutex_);
  auto reset = absl::MakeCleanup([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { last_chunk_.Reset(); });
  last_chunk_.BindText(1, job_id);
  DDP_RETURN_IF_ERROR(last_chunk_.Step().status());
  return static_cast<uint64_t>(last_chunk_.Int(0));
}

absl::StatusOr<std::vector<v1::SeriesSummary>> Reader::SeriesSummaries(const std::string& job_id) {
  std::lock_guard lock(mutex_);
  auto reset = absl::MakeCleanup([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { series_summaries_.Reset(); });
  series_summaries_.BindText(1, job_id);
  std::vector<v1::SeriesSummary> summaries;
  while (true) {
    DDP_ASSIGN_OR_RETURN(const bool row, series_summaries_.Step());
    if (!row) return summaries;
    v1::SeriesSummary& summary = summaries.emplace_back();
    DDP_RETURN_IF_ERROR(Parse(series_summaries_.Bytes(1), summary, "summary of a series"));
    summary.set_series(std::string(series_summaries_.Bytes(0)));
  }
}

absl::StatusOr<std::map<int32_t, int64_t>> Reader::LastSteps(const std::string& job_id) {
  std::lock_guard lock(mutex_);
  return ddp::LastSteps(attempt_starts_, job_id);
}

absl::StatusOr<std::vector<EndedJob>> Reader::UnthinnedJobs(int64_t before) {
  std::lock_guard lock(mutex_);
  auto reset = absl::MakeCleanup([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { unthinned_jobs_.Reset(); });
  unthinned_jobs_.BindInt(1, before);
  std::vector<EndedJob> jobs;
  while (true) {
    DDP_ASSIGN_OR_RETURN(const bool row, unthinned_jobs_.Step());
    if (!row) return jobs;
    jobs.push_back({std::string(unthinned_jobs_.Bytes(0)), unthinned_jobs_.Int(1),
                    static_cast<uint64_t>(unthinned_jobs_.Int(2)), static_cast<uint64_t>(unthinned_jobs_.Int(3))});
  }
}

absl::StatusOr<std::vector<std::string>> Reader::HistogramSeries(const std::string& job_id) {
  std::lock_guard lock(mutex_);
  auto reset = absl::MakeCleanup([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { histogram_series_.Reset(); });
  histogram_series_.BindText(1, job_id);
  std::vector<std::string> names;
  while (true) {
    DDP_ASSIGN_OR_RETURN(const bool row, histogram_series_.Step());
    if (!row) return names;
    names.emplace_back(histogram_series_.Bytes(0));
  }
}

absl::StatusOr<std::vector<SeriesExtent>> Reader::Extents(Statement& statement, const std::string& job_id) {
  auto reset = absl::MakeCleanup([&statement] { statement.Reset(); });
  statement.BindText(1, job_id);
  std::vector<SeriesExtent> extents;
  while (true) {
    DDP_ASSIGN_OR_RETURN(const bool row, statement.Step());
    if (!row) return extents;
    extents.push_back({std::string(statement.Bytes(0)), statement.Int(1), statement.Int(2)});
  }
}

absl::StatusOr<std::vector<SeriesExtent>> Reader::HistogramExtents(const std::string& job_id) {
  std::lock_guard lock(mutex_);
  return Extents(histogram_extents_, job_id);
}

absl::StatusOr<std::vector<SeriesExtent>> Reader::TextExtents(const std::string& job_id) {
  std::lock_guard lock(mutex_);
  return Extents(text_extents_, job_id);
}

absl::Status Reader::ForEachText(const std::string& job_id, const std::string& series, int64_t first, int64_t last,
                                 absl::FunctionRef<absl::Status(v1::Text)> take) {
  std::lock_guard lock(mutex_);
  auto reset = absl::MakeCleanup([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { texts_.Reset(); });
  texts_.BindText(1, job_id);
  texts_.BindText(2, series);
  texts_.BindInt(3, first);
  texts_.BindInt(4, last);
  while (true) {
    DDP_ASSIGN_OR_RETURN(const bool row, texts_.Step());
    if (!row) return absl::OkStatus();
    v1::Text text;
    DDP_RETURN_IF_ERROR(Parse(texts_.Bytes(1), text, "text"));
    text.set_series(series);
    text.set_step(texts_.Int(0));
    DDP_RETURN_IF_ERROR(take(std::move(text)));
  }
}

absl::StatusOr<std::vector<HistogramKey>> Reader::HistogramKeys(const std::string& job_id, const std::string& series,
                                                                int64_t first, int64_t last) {
  std::lock_guard lock(mutex_);
  auto reset = absl::MakeCleanup([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { histogram_keys_.Reset(); });
  histogram_keys_.BindText(1, job_id);
  histogram_keys_.BindText(2, series);
  histogram_keys_.BindInt(3, first);
  histogram_keys_.BindInt(4, last);
  std::vector<HistogramKey> keys;
  while (true) {
    DDP_ASSIGN_OR_RETURN(const bool row, histogram_keys_.Step());
    if (!row) return keys;
    keys.push_back({histogram_keys_.Int(0), static_cast<int32_t>(histogram_keys_.Int(1))});
  }
}

absl::StatusOr<std::optional<v1::Histogram>> Reader::Histogram(const std::string& job_id, const std::string& series,
                                                               const HistogramKey& key) {
  std::lock_guard lock(mutex_);
  auto reset = absl::MakeCleanup([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { histogram_.Reset(); });
  histogram_.BindText(1, job_id);
  histogram_.BindText(2, series);
  histogram_.BindInt(3, key.step);
  histogram_.BindInt(4, key.attempt);
  DDP_ASSIGN_OR_RETURN(const bool row, histogram_.Step());
  if (!row) return std::nullopt;
  v1::Histogram histogram;
  DDP_RETURN_IF_ERROR(Parse(histogram_.Bytes(0), histogram, "histogram"));
  histogram.set_series(series);
  histogram.set_step(key.step);
  return histogram;
}

}  // namespace ddp
