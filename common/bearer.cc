#include "common/bearer.h"

#include "common/ids.h"

namespace ddp {

absl::Status CheckBearer(std::optional<std::string_view> value, const std::string& token) {
  constexpr std::string_view kScheme = "Bearer ";
  if (!value) {
    return absl::UnauthenticatedError(
        "no token: send the metadata 'authorization: Bearer TOKEN' with the text of the file 'token' in the daemon's "
        "home");
  }
  if (value->substr(0, kScheme.size()) != kScheme || !SecretsEqual(value->substr(kScheme.size()), token)) {
    return absl::UnauthenticatedError("wrong token: the right one is in the file 'token' in the daemon's home");
  }
  return absl::OkStatus();
}

}  // namespace ddp
