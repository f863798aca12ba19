// The daemon's token.
#ifndef DDP_SERVER_API_AUTH_H_
#define DDP_SERVER_API_AUTH_H_

#include <grpcpp/server_context.h>

#include <string>

namespace ddp {

// UNAUTHENTICATED unless the call's metadata holds `authorization: Bearer TOKEN`. Takes the same time for every wrong
// token.
grpc::Status Authorize(const grpc::ServerContextBase& context, const std::string& token);

}  // namespace ddp

#endif  // DDP_SERVER_API_AUTH_H_
