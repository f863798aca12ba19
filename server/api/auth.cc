#include "server/api/auth.h"

#include "common/ids.h"

namespace ddp {

grpc::Status Authorize(const grpc::ServerContextBase& context, const std::string& token) {
  constexpr std::string_view kScheme = "Bearer ";
  const auto found = context.client_metadata().find("authorization");
  if (found == context.client_metadata().end()) {
    return {grpc::StatusCode::UNAUTHENTICATED,
            "no token: send the metadata 'authorization: Bearer TOKEN' with the text of the file 'token' in the "
            "daemon's home"};
  }
  const std::string_view value(found->second.data(), found->second.size());
  if (value.substr(0, kScheme.size()) != kScheme || !SecretsEqual(value.substr(kScheme.size()), token)) {
    return {grpc::StatusCode::UNAUTHENTICATED,
            "wrong token: the right one is in the file 'token' in the daemon's home"};
  }
  return grpc::Status::OK;
}

}  // namespace ddp
