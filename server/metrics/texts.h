// Answers to Texts from what is stored.
#ifndef DDP_SERVER_METRICS_TEXTS_H_
#define DDP_SERVER_METRICS_TEXTS_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "ddp/v1/metric.pb.h"
#include "server/store/reader.h"

namespace ddp {

inline constexpr size_t kMaxTextBytes = size_t{64} << 20;

// Thread-safe; blocks on the store. The job id is complete; a job without texts gives an empty answer. InvalidArgument
// names the field that makes no sense, ResourceExhausted says that the answer is above max_bytes.
absl::StatusOr<v1::QueryTextsResponse> QueryTexts(Reader& reader, const v1::QueryTextsRequest& request,
                                                  size_t max_bytes = kMaxTextBytes);

}  // namespace ddp

#endif  // DDP_SERVER_METRICS_TEXTS_H_
