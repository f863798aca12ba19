#include "server/metrics/retention.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "ddp/v1/worker.pb.h"
#include "server/metrics/keep_shape.h"
#include "server/store/raw_columns.h"

namespace ddp {
namespace {

constexpr std::chrono::hours kEvery{1};

// A point of one series: the index-th of its batch.
struct Place {
  uint64_t seq = 0;
  uint32_t index = 0;
  auto operator<=>(const Place&) const = default;
};
// By series, of those that are thinned out; sorted.
using Kept = std::map<std::string, std::vector<Place>, std::less<>>;
using LastStepByAttempt = std::map<int32_t, int64_t>;

absl::Status ForEachPage(Reader& reader, const EndedJob& job, uint64_t after, size_t bytes,
                         absl::FunctionRef<absl::Status(const std::vector<MetricChunk>&)> take) {
  while (true) {
    DDP_ASSIGN_OR_RETURN(const std::vector<MetricChunk> page, reader.Chunks(job.id, after, job.last_seq, bytes));
    if (page.empty()) return absl::OkStatus();
    after = page.back().seq;
    DDP_RETURN_IF_ERROR(take(page));
  }
}

absl::Status Unreadable(const EndedJob& job, uint64_t seq) {
  return absl::DataLossError(absl::StrCat("job ", job.id, ": metric chunk ", seq, " is unreadable"));
}

// The points of one series that stay. Those of batches that have been thinned out before all do.
absl::StatusOr<std::vector<Place>> Choose(Reader& reader, const EndedJob& job, const LastStepByAttempt& last_steps,
                                          const std::string& series, size_t page_bytes) {
  struct Candidate {
    int64_t step;
    double value;
    Place place;
  };
  std::vector<Candidate> candidates;
  size_t thinned = 0;
  const auto take = [&](const std::vector<MetricChunk>& page) {
    std::vector<Point> points;
    for (const MetricChunk& chunk : page) {
      points.clear();
      const auto add = [&](const RawColumn& column) {
        return column.series != std::string_view(series) || AppendPoints(column, points);
      };
      if (!ReadColumns(chunk.batch, add)) return Unreadable(job, chunk.seq);
      if (chunk.seq <= job.thinned_up_to) {
        thinned += points.size();
        continue;
      }
      for (uint32_t i = 0; i < points.size(); ++i) {
        if (points[i].step > last_steps.at(chunk.attempt)) continue;
        candidates.push_back({points[i].step, points[i].value, {chunk.seq, i}});
      }
    }
    return absl::OkStatus();
  };
  DDP_RETURN_IF_ERROR(ForEachPage(reader, job, 0, page_bytes, take));
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.step < b.step; });
  std::vector<double> values;
  values.reserve(candidates.size());
  for (const Candidate& candidate : candidates) values.push_back(candidate.value);
  constexpr size_t kOneBucket = 5;
  const size_t limit = std::max(MetricRetention::kLongest - std::min(thinned, MetricRetention::kLongest), kOneBucket);
  std::vector<Place> kept;
  for (const size_t index : KeepShape(values, limit)) kept.push_back(candidates[index].place);
  std::sort(kept.begin(), kept.end());
  return kept;
}

// What stays of a batch. False: all of it does.
bool ThinBatch(uint64_t seq, int64_t last_step, const Kept& kept, v1::MetricBatch& batch) {
  v1::MetricBatch thin;
  std::map<std::string, uint32_t, std::less<>> seen;  // a series may have several columns
  bool changed = false;
  for (const v1::MetricColumn& column : batch.columns()) {
    const auto of_series = kept.find(column.series());
    uint32_t& next = seen[column.series()];
    v1::MetricColumn stays;
    const int points = std::min({column.step_size(), column.time_size(), column.value_size()});
    for (int i = 0; i < points; ++i) {
      const Place place{seq, next++};
      if (column.step(i) > last_step) continue;
      if (of_series != kept.end() && !std::binary_search(of_series->second.begin(), of_series->second.end(), place)) {
        continue;
      }
      stays.add_step(column.step(i));
      stays.add_time(column.time(i));
      stays.add_value(column.value(i));
    }
    changed |= stays.step_size() != column.step_size();
    if (stays.step().empty()) continue;
    stays.set_series(column.series());
    *thin.add_columns() = std::move(stays);
  }
  batch = std::move(thin);
  return changed;
}

}  // namespace

MetricRetention::~MetricRetention() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  closing_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void MetricRetention::StartThread() {
  thread_ = std::thread([this] { Loop(); });
}

bool MetricRetention::Closing() {
  std::lock_guard lock(mutex_);
  return closing_;
}

void MetricRetention::Loop() {
  while (true) {
    if (const absl::Status status = RunOnce(); !status.ok() && !absl::IsCancelled(status)) {
      LogWarning(absl::StrCat("old points could not be thinned out: ", std::string(status.message()),
                              "; trying again in an hour"));
    }
    std::unique_lock lock(mutex_);
    if (closing_changed_.wait_for(lock, kEvery, [this] { return closing_; })) return;
  }
}

absl::Status MetricRetention::RunOnce() {
  const absl::Time before = clock_.Now() - absl::Hours(24) * keep_days_;
  DDP_ASSIGN_OR_RETURN(const std::vector<EndedJob> jobs, store_.reader().UnthinnedJobs(absl::ToUnixMicros(before)));
  for (const EndedJob& job : jobs) {
    const absl::Status status = Thin(job);
    if (absl::IsCancelled(status) || absl::IsResourceExhausted(status)) return status;
    // A job that was resumed or deleted meanwhile, or has a damaged batch, does not keep the others from it.
    if (!status.ok()) LogWarning(absl::StrCat("points of job ", job.id, " stay: ", std::string(status.message())));
  }
  return absl::OkStatus();
}

absl::Status MetricRetention::Thin(const EndedJob& job) {
  Reader& reader = store_.reader();
  DDP_ASSIGN_OR_RETURN(const LastStepByAttempt last_steps, reader.LastSteps(job.id));
  DDP_ASSIGN_OR_RETURN(const std::vector<v1::SeriesSummary> summaries, reader.SeriesSummaries(job.id));
  Kept kept;
  for (const v1::SeriesSummary& summary : summaries) {
    if (summary.count() <= static_cast<int64_t>(kLongest)) continue;
    if (Closing()) return absl::CancelledError("ddpd stops");
    DDP_ASSIGN_OR_RETURN(kept[summary.series()], Choose(reader, job, last_steps, summary.series(), page_bytes_));
  }
  ThinnedChunks part{.end_time = job.end_time, .up_to = job.thinned_up_to};
  const auto commit = [&] {
    WriteBatch batch;
    batch.ThinChunks(job.id, std::exchange(part, {.end_time = job.end_time, .up_to = part.up_to}));
    return store_.CommitAndWait(std::move(batch));
  };
  if (!kept.empty() || last_steps.size() > 1) {
    const auto thin_page = [&](const std::vector<MetricChunk>& page) -> absl::Status {
      if (Closing()) return absl::CancelledError("ddpd stops");
      for (const MetricChunk& chunk : page) {
        v1::MetricBatch metrics;
        if (!metrics.ParseFromString(chunk.batch)) return Unreadable(job, chunk.seq);
        if (!ThinBatch(chunk.seq, last_steps.at(chunk.attempt), kept, metrics)) continue;
        if (metrics.columns().empty() && chunk.seq != job.last_seq) {
          part.deleted.push_back(chunk.seq);
        } else {
          part.replaced.emplace_back(chunk.seq, metrics.SerializeAsString());
        }
      }
      part.up_to = page.back().seq;
      return commit();
    };
    DDP_RETURN_IF_ERROR(ForEachPage(reader, job, job.thinned_up_to, page_bytes_, thin_page));
  }
  part.done = true;
  return commit();
}

}  // namespace ddp
