#include "server/gateway/method.h"

#include <google/protobuf/descriptor.h>

namespace ddp {

std::optional<WebMethod> FindWebMethod(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (path.empty() || path[0] != '/' || slash == 0) return std::nullopt;
  const google::protobuf::ServiceDescriptor* service =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(path.substr(1, slash - 1));
  if (service == nullptr || service->file()->package() != "ddp.v1" || service->name() == "RunnerService") {
    return std::nullopt;
  }
  const google::protobuf::MethodDescriptor* method = service->FindMethodByName(path.substr(slash + 1));
  if (method == nullptr) return std::nullopt;
  return WebMethod{.path = path, .streams = method->server_streaming()};
}

}  // namespace ddp
