#include "server/store/histogram_cap.h"

#include <algorithm>
#include <numeric>

#include "absl/cleanup/cleanup.h"
#include "common/status_macros.h"

namespace ddp {

int64_t HistogramStride(const std::vector<int64_t>& steps, size_t limit) {
  int64_t stride = 0;
  for (const int64_t step : steps) stride = std::gcd(stride, step - steps.front());
  if (stride == 0) return 0;
  const auto kept = [&] {
    return static_cast<size_t>(
        std::count_if(steps.begin(), steps.end(), [&](int64_t step) { return (step - steps.front()) % stride == 0; }));
  };
  while (kept() > limit) stride *= 2;
  return stride;
}

absl::Status HistogramCap::Prepare(Database& database) {
  DDP_ASSIGN_OR_RETURN(count_, database.Prepare("SELECT count(*) FROM histograms WHERE job_id=?1"));
  // The same rule as the reader's.
  DDP_ASSIGN_OR_RETURN(delete_superseded_,
                       database.Prepare("DELETE FROM histograms WHERE job_id=?1 AND EXISTS(SELECT 1 FROM "
                                        "metric_attempts AS later WHERE later.job_id=?1 AND "
                                        "later.attempt>histograms.attempt AND later.start_step<histograms.step)"));
  DDP_ASSIGN_OR_RETURN(steps_, database.Prepare("SELECT DISTINCT series, step FROM histograms WHERE job_id=?1 "
                                                "ORDER BY series, step"));
  DDP_ASSIGN_OR_RETURN(delete_between_,
                       database.Prepare("DELETE FROM histograms WHERE job_id=?1 AND series=?2 AND step>?3 AND step<?4 "
                                        "AND (step-?3)%?5<>0"));
  return absl::OkStatus();
}

absl::Status HistogramCap::Added(const std::string& job_id, int64_t rows) {
  const auto known = rows_.find(job_id);
  if (known != rows_.end()) {
    known->second += rows;
    if (known->second <= kMaxHistograms) return absl::OkStatus();
  }
  int64_t counted = 0;
  DDP_RETURN_IF_ERROR(Count(job_id, &counted));
  if (counted > kMaxHistograms) {
    DDP_RETURN_IF_ERROR(Thin(job_id));
    DDP_RETURN_IF_ERROR(Count(job_id, &counted));
  }
  rows_[job_id] = counted;
  return absl::OkStatus();
}

absl::Status HistogramCap::Count(const std::string& job_id, int64_t* rows) {
  auto reset = absl::MakeCleanup([this] { count_.Reset(); });
  count_.BindText(1, job_id);
  DDP_RETURN_IF_ERROR(count_.Step().status());
  *rows = count_.Int(0);
  return absl::OkStatus();
}

absl::Status HistogramCap::Thin(const std::string& job_id) {
  delete_superseded_.BindText(1, job_id);
  DDP_RETURN_IF_ERROR(delete_superseded_.Run());
  std::map<std::string, std::vector<int64_t>> steps;
  {
    auto reset = absl::MakeCleanup([this] { steps_.Reset(); });
    steps_.BindText(1, job_id);
    while (true) {
      DDP_ASSIGN_OR_RETURN(const bool row, steps_.Step());
      if (!row) break;
      steps[std::string(steps_.Bytes(0))].push_back(steps_.Int(1));
    }
  }
  // One more than half of each series' share, or an odd number of steps would be cut to a quarter.
  const size_t limit = static_cast<size_t>(kMaxHistograms) / 2 / std::max<size_t>(1, steps.size()) + 1;
  for (const auto& [series, of_series] : steps) {
    if (of_series.size() <= limit) continue;
    delete_between_.BindText(1, job_id);
    delete_between_.BindText(2, series);
    delete_between_.BindInt(3, of_series.front());
    delete_between_.BindInt(4, of_series.back());
    delete_between_.BindInt(5, HistogramStride(of_series, limit));
    DDP_RETURN_IF_ERROR(delete_between_.Run());
  }
  return absl::OkStatus();
}

}  // namespace ddp
