// Answers to Histograms from what is stored.
#ifndef DDP_SERVER_METRICS_HISTOGRAMS_H_
#define DDP_SERVER_METRICS_HISTOGRAMS_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "ddp/v1/metric.pb.h"
#include "server/store/reader.h"

namespace ddp {

inline constexpr int kDefaultHistogramSteps = 200;
inline constexpr int kMaxHistogramSteps = 10000;
inline constexpr size_t kMaxHistogramBytes = size_t{64} << 20;

// Which of `count` things to keep so that at most `limit` (> 0) are left, evenly: the first and the last are among
// them, and only the last when the limit is 1. Ascending.
std::vector<size_t> ThinOut(size_t count, size_t limit);

// Thread-safe; blocks on the store. The job id is complete; a job without histograms gives an empty answer.
// InvalidArgument names the field that makes no sense, ResourceExhausted says that the answer is above max_bytes.
absl::StatusOr<v1::QueryHistogramsResponse> QueryHistograms(Reader& reader, const v1::QueryHistogramsRequest& request,
                                                            size_t max_bytes = kMaxHistogramBytes);

}  // namespace ddp

#endif  // DDP_SERVER_METRICS_HISTOGRAMS_H_
