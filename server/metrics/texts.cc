#include "server/metrics/texts.h"

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ddp {

absl::StatusOr<v1::QueryTextsResponse> QueryTexts(Reader& reader, const v1::QueryTextsRequest& request,
                                                  size_t max_bytes) {
  if (request.from_step() < 0) {
    return absl::InvalidArgumentError(absl::StrCat("from_step is ", request.from_step(), "; it must be at least 0"));
  }
  if (request.to_step() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("to_step is ", request.to_step(), "; it must be at least 0 (0: no limit)"));
  }
  const std::set<std::string> wanted(request.series().begin(), request.series().end());
  const int64_t last = request.to_step() == 0 ? std::numeric_limits<int64_t>::max() : request.to_step();
  DDP_ASSIGN_OR_RETURN(const std::vector<SeriesExtent> all, reader.TextExtents(request.job_id()));
  v1::QueryTextsResponse response;
  size_t bytes = 0;
  for (const SeriesExtent& extent : all) {
    if (!wanted.empty() && !wanted.contains(extent.series)) continue;
    const auto take = [&](v1::Text text) {
      bytes += text.ByteSizeLong();
      if (bytes > max_bytes) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the texts asked for are more than ", max_bytes, " bytes: ask for fewer series or steps"));
      }
      *response.add_texts() = std::move(text);
      return absl::OkStatus();
    };
    DDP_RETURN_IF_ERROR(reader.ForEachText(request.job_id(), extent.series, request.from_step(), last, take));
  }
  return response;
}

}  // namespace ddp
