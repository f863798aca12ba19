#include "server/api/auth.h"

#include "common/bearer.h"
#include "server/api/status.h"

namespace ddp {

grpc::Status Authorize(const grpc::ServerContextBase& context, const std::string& token) {
  const auto found = context.client_metadata().find("authorization");
  if (found == context.client_metadata().end()) return ToGrpc(CheckBearer({}, token));
  return ToGrpc(CheckBearer(std::string_view(found->second.data(), found->second.size()), token));
}

}  // namespace ddp
