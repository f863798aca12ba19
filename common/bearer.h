// The daemon's token as clients send it: "Bearer TOKEN" in the metadata or HTTP header `authorization`.
#ifndef DDP_COMMON_BEARER_H_
#define DDP_COMMON_BEARER_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace ddp {

// Unauthenticated unless `value` holds the token; unset: nothing was sent. Takes the same time for every wrong token.
absl::Status CheckBearer(std::optional<std::string_view> value, const std::string& token);

}  // namespace ddp

#endif  // DDP_COMMON_BEARER_H_
