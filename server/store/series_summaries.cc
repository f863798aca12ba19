#include "server/store/series_summaries.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ddp {
namespace {

absl::Status Parse(std::string_view bytes, v1::SeriesSummary& summary) {
  if (summary.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return absl::OkStatus();
  return absl::DataLossError("the store holds an unreadable summary of a series");
}

// Calls `add` for each column's name and points. What cannot be read ends it.
template <typename AddColumn>
absl::Status ForEachColumn(std::string_view batch, std::vector<Point>& points, AddColumn add) {
  absl::Status status;
  (void)ReadColumns(batch, [&](const RawColumn& column) {
    points.clear();
    if (!AppendPoints(column, points)) return false;
    status = add(column.series);
    return status.ok();
  });
  return status;
}

}  // namespace

v1::SeriesSummary NewSummary() {
  v1::SeriesSummary summary;
  summary.set_type(v1::POINT_TYPE_SCALAR);
  summary.set_min(std::numeric_limits<double>::quiet_NaN());
  summary.set_max(std::numeric_limits<double>::quiet_NaN());
  return summary;
}

void AddToSummary(const Point& point, v1::SeriesSummary& summary) {
  // Of equal steps, the later one counts as last.
  if (summary.count() == 0 || point.step >= summary.last_step()) {
    summary.set_last_step(point.step);
    summary.set_last(point.value);
  }
  summary.set_count(summary.count() + 1);
  if (!std::isfinite(point.value)) {
    summary.set_non_finite(summary.non_finite() + 1);
    return;
  }
  // fmin and fmax prefer what is no NaN.
  summary.set_min(std::fmin(summary.min(), point.value));
  summary.set_max(std::fmax(summary.max(), point.value));
}

absl::StatusOr<std::map<int32_t, int64_t>> LastSteps(Statement& attempt_starts, const std::string& job_id,
                                                     int64_t last) {
  auto reset = absl::MakeCleanup([&attempt_starts] { attempt_starts.Reset(); });
  attempt_starts.BindText(1, job_id);
  std::map<int32_t, int64_t> last_steps;
  while (true) {
    DDP_ASSIGN_OR_RETURN(const bool row, attempt_starts.Step());
    if (!row) return last_steps;
    last_steps[static_cast<int32_t>(attempt_starts.Int(0))] = last;
    last = std::min(last, attempt_starts.Int(1));
  }
}

absl::Status SeriesSummaries::Prepare(Database& database) {
  DDP_ASSIGN_OR_RETURN(newest_attempt_, database.Prepare("SELECT attempt FROM metric_chunks WHERE job_id=?1 ORDER BY "
                                                         "seq DESC LIMIT 1"));
  DDP_ASSIGN_OR_RETURN(one_, database.Prepare("SELECT summary FROM metric_summaries WHERE job_id=?1 AND series=?2"));
  DDP_ASSIGN_OR_RETURN(all_, database.Prepare("SELECT summary, EXISTS(SELECT 1 FROM metric_retention WHERE job_id=?1 "
                                              "AND done=0) FROM metric_summaries WHERE job_id=?1"));
  DDP_ASSIGN_OR_RETURN(put_, database.Prepare("INSERT OR REPLACE INTO metric_summaries VALUES(?1,?2,?3)"));
  DDP_ASSIGN_OR_RETURN(delete_all_, database.Prepare("DELETE FROM metric_summaries WHERE job_id=?1"));
  DDP_ASSIGN_OR_RETURN(attempt_starts_, database.Prepare(kAttemptStarts));
  DDP_ASSIGN_OR_RETURN(chunks_,
                       database.Prepare("SELECT attempt, batch FROM metric_chunks WHERE job_id=?1 ORDER BY seq"));
  return absl::OkStatus();
}

absl::StatusOr<SeriesSummaries::Job*> SeriesSummaries::Find(const std::string& job_id) {
  const auto [found, added] = jobs_.try_emplace(job_id);
  if (!added) return &found->second;
  auto reset = absl::MakeCleanup([this] { newest_attempt_.Reset(); });
  newest_attempt_.BindText(1, job_id);
  DDP_ASSIGN_OR_RETURN(const bool row, newest_attempt_.Step());
  if (row) found->second.attempt = static_cast<int32_t>(newest_attempt_.Int(0));
  return &found->second;
}

absl::Status SeriesSummaries::Add(const std::string& job_id, int32_t attempt, int64_t start_step,
                                  std::string_view batch) {
  DDP_ASSIGN_OR_RETURN(Job* const job, Find(job_id));
  if (attempt != job->attempt && job->attempt != 0) {
    DDP_RETURN_IF_ERROR(FlushJob(job_id, *job));
    DDP_ASSIGN_OR_RETURN(const bool must_rebuild, MustRebuild(job_id, start_step));
    if (must_rebuild) DDP_RETURN_IF_ERROR(RebuildUpTo(job_id, start_step));
    job->series.clear();
  }
  job->attempt = attempt;
  return ForEachColumn(batch, points_, [&](std::string_view series) -> absl::Status {
    DDP_ASSIGN_OR_RETURN(v1::SeriesSummary* const summary, Touch(job_id, series, job->series));
    for (const Point& point : points_) AddToSummary(point, *summary);
    return absl::OkStatus();
  });
}

absl::StatusOr<v1::SeriesSummary*> SeriesSummaries::Touch(const std::string& job_id, std::string_view series,
                                                          BySeries& all) {
  const auto found = all.find(series);
  if (found != all.end()) return &found->second;
  v1::SeriesSummary& summary = all.emplace(series, NewSummary()).first->second;
  auto reset = absl::MakeCleanup([this] { one_.Reset(); });
  one_.BindText(1, job_id);
  one_.BindText(2, series);
  DDP_ASSIGN_OR_RETURN(const bool row, one_.Step());
  if (row) DDP_RETURN_IF_ERROR(Parse(one_.Bytes(0), summary));
  return &summary;
}

absl::StatusOr<bool> SeriesSummaries::MustRebuild(const std::string& job_id, int64_t start_step) {
  auto reset = absl::MakeCleanup([this] { all_.Reset(); });
  all_.BindText(1, job_id);
  while (true) {
    DDP_ASSIGN_OR_RETURN(const bool row, all_.Step());
    if (!row) return false;
    v1::SeriesSummary summary;
    DDP_RETURN_IF_ERROR(Parse(all_.Bytes(0), summary));
    // Superseded, or the job was resumed while it was being thinned out.
    if (summary.last_step() > start_step || all_.Int(1) != 0) return true;
  }
}

absl::Status SeriesSummaries::Flush() {
  for (const auto& [job_id, job] : jobs_) DDP_RETURN_IF_ERROR(FlushJob(job_id, job));
  jobs_.clear();
  return absl::OkStatus();
}

absl::Status SeriesSummaries::FlushJob(const std::string& job_id, const Job& job) {
  for (const auto& [series, summary] : job.series) {
    put_.BindText(1, job_id);
    put_.BindText(2, series);
    put_.BindBlob(3, summary.SerializeAsString());
    DDP_RETURN_IF_ERROR(put_.Run());
  }
  return absl::OkStatus();
}

absl::Status SeriesSummaries::Rebuild(const std::string& job_id) {
  jobs_.erase(job_id);
  return RebuildUpTo(job_id, std::numeric_limits<int64_t>::max());
}

absl::Status SeriesSummaries::RebuildUpTo(const std::string& job_id, int64_t last_step_of_all) {
  using LastStepByAttempt = std::map<int32_t, int64_t>;
  DDP_ASSIGN_OR_RETURN(const LastStepByAttempt last_steps, LastSteps(attempt_starts_, job_id, last_step_of_all));
  Job job;
  {
    auto reset = absl::MakeCleanup([this] { chunks_.Reset(); });
    chunks_.BindText(1, job_id);
    while (true) {
      DDP_ASSIGN_OR_RETURN(const bool row, chunks_.Step());
      if (!row) break;
      const int64_t last_step = last_steps.at(static_cast<int32_t>(chunks_.Int(0)));
      DDP_RETURN_IF_ERROR(ForEachColumn(chunks_.Bytes(1), points_, [&](std::string_view series) {
        auto found = job.series.find(series);
        // A series of which nothing counts any more is still one.
        if (found == job.series.end()) found = job.series.emplace(series, NewSummary()).first;
        for (const Point& point : points_) {
          if (point.step <= last_step) AddToSummary(point, found->second);
        }
        return absl::OkStatus();
      }));
    }
  }
  delete_all_.BindText(1, job_id);
  DDP_RETURN_IF_ERROR(delete_all_.Run());
  return FlushJob(job_id, job);
}

absl::Status SummarizeAllJobs(Database& database) {
  DDP_ASSIGN_OR_RETURN(Statement jobs, database.Prepare("SELECT id FROM jobs"));
  SeriesSummaries summaries;
  DDP_RETURN_IF_ERROR(summaries.Prepare(database));
  while (true) {
    DDP_ASSIGN_OR_RETURN(const bool row, jobs.Step());
    if (!row) return absl::OkStatus();
    DDP_RETURN_IF_ERROR(summaries.Rebuild(std::string(jobs.Bytes(0))));
  }
}

}  // namespace ddp
