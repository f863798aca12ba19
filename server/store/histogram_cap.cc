#include "server/store/histogram_cap.h"

#include <algorithm>
#include <map>
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
  DDP_RETURN_IF_ERROR(rows_.Prepare(database, "histograms", kMaxHistograms));
  DDP_ASSIGN_OR_RETURN(steps_, database.Prepare("SELECT DISTINCT series, step FROM histograms WHERE job_id=?1 "
                                                "ORDER BY series, step"));
  DDP_ASSIGN_OR_RETURN(delete_between_,
                       database.Prepare("DELETE FROM histograms WHERE job_id=?1 AND series=?2 AND step>?3 AND step<?4 "
                                        "AND (step-?3)%?5<>0"));
  return absl::OkStatus();
}

absl::Status HistogramCap::Added(const std::string& job_id, int64_t rows) {
  DDP_ASSIGN_OR_RETURN(const bool above, rows_.Added(job_id, rows));
  if (!above) return absl::OkStatus();
  DDP_RETURN_IF_ERROR(rows_.DeleteSuperseded(job_id).status());
  DDP_RETURN_IF_ERROR(Thin(job_id));
  return rows_.Count(job_id).status();
}

absl::Status HistogramCap::Thin(const std::string& job_id) {
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
