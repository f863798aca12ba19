#include "server/api/status.h"

#include "common/text.h"
#include "ddp/v1/rpc_status.pb.h"

namespace ddp {

namespace {

// A status travels in HTTP/2 metadata, of which gRPC takes 8 KiB in all: what is too long is cut, so that the call does
// not fail with a word about metadata instead. The details hold the message once more, in base64.
constexpr size_t kMessageBytes = 1000;
constexpr size_t kDescriptionBytes = 600;
constexpr int kDetailBytes = 3400;

std::string Cut(const std::string& text, size_t limit) {
  return text.size() <= limit ? text : std::string(CutUtf8(text, limit)) + "...";
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), Cut(std::string(status.message()), kMessageBytes)};
}

grpc::Status ToGrpc(const absl::Status& status, const std::vector<v1::FieldViolation>& violations) {
  v1::ErrorDetail detail;
  for (const v1::FieldViolation& violation : violations) {
    v1::FieldViolation& added = *detail.add_violations();
    added.set_field(Cut(violation.field(), kDescriptionBytes));
    added.set_description(Cut(violation.description(), kDescriptionBytes));
    if (detail.ByteSizeLong() <= kDetailBytes) continue;
    detail.mutable_violations()->RemoveLast();
    break;
  }
  const grpc::Status plain = ToGrpc(status);
  v1::RpcStatus rich;
  rich.set_code(plain.error_code());
  rich.set_message(plain.error_message());
  rich.add_details()->PackFrom(detail);
  return {plain.error_code(), plain.error_message(), rich.SerializeAsString()};
}

}  // namespace ddp
