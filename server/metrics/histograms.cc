#include "server/metrics/histograms.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ddp {
namespace {

absl::Status Validate(const v1::QueryHistogramsRequest& request) {
  const auto wrong = [](const char* field, int64_t value, const std::string& want) {
    return absl::InvalidArgumentError(absl::StrCat(field, " is ", value, "; it must be ", want));
  };
  if (request.from_step() < 0) return wrong("from_step", request.from_step(), "at least 0");
  if (request.to_step() < 0) return wrong("to_step", request.to_step(), "at least 0 (0: no limit)");
  if (request.max_steps() < 0 || request.max_steps() > kMaxHistogramSteps) {
    return wrong("max_steps", request.max_steps(),
                 absl::StrCat("0 (at most ", kDefaultHistogramSteps, " steps of each series) to ", kMaxHistogramSteps));
  }
  return absl::OkStatus();
}

// One key for each step: a later attempt's wins.
void DropEqualSteps(std::vector<HistogramKey>& keys) {
  const auto same = [](const HistogramKey& a, const HistogramKey& b) { return a.step == b.step; };
  keys.erase(keys.begin(), std::unique(keys.rbegin(), keys.rend(), same).base());
}

}  // namespace

std::vector<size_t> ThinOut(size_t count, size_t limit) {
  std::vector<size_t> kept;
  if (count <= limit) {
    for (size_t i = 0; i < count; ++i) kept.push_back(i);
  } else if (limit == 1) {
    kept.push_back(count - 1);
  } else {
    for (size_t i = 0; i < limit; ++i) kept.push_back(i * (count - 1) / (limit - 1));
  }
  return kept;
}

absl::StatusOr<v1::QueryHistogramsResponse> QueryHistograms(Reader& reader, const v1::QueryHistogramsRequest& request,
                                                            size_t max_bytes) {
  DDP_RETURN_IF_ERROR(Validate(request));
  const auto limit = static_cast<size_t>(request.max_steps() == 0 ? kDefaultHistogramSteps : request.max_steps());
  const int64_t last = request.to_step() == 0 ? std::numeric_limits<int64_t>::max() : request.to_step();
  const std::set<std::string> wanted(request.series().begin(), request.series().end());
  DDP_ASSIGN_OR_RETURN(const std::vector<std::string> all, reader.HistogramSeries(request.job_id()));
  v1::QueryHistogramsResponse response;
  size_t bytes = 0;
  for (const std::string& series : all) {
    if (!wanted.empty() && wanted.count(series) == 0) continue;
    DDP_ASSIGN_OR_RETURN(std::vector<HistogramKey> keys,
                         reader.HistogramKeys(request.job_id(), series, request.from_step(), last));
    DropEqualSteps(keys);
    for (const size_t i : ThinOut(keys.size(), limit)) {
      DDP_ASSIGN_OR_RETURN(std::optional<v1::Histogram> histogram, reader.Histogram(request.job_id(), series, keys[i]));
      if (!histogram) continue;
      bytes += histogram->ByteSizeLong();
      if (bytes > max_bytes) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the histograms asked for are more than ", max_bytes,
                         " bytes: ask for fewer series, or for fewer steps (max_steps)"));
      }
      *response.add_histograms() = *std::move(histogram);
    }
  }
  return response;
}

}  // namespace ddp
