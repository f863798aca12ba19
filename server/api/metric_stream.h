// A metric stream on the wire.
#ifndef DDP_SERVER_API_METRIC_STREAM_H_
#define DDP_SERVER_API_METRIC_STREAM_H_

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "server/metrics/subscription.h"
#include "server/stream_step.h"

namespace ddp {

// A source of serialised messages. The bytes of a live one are shared by all who get it, down to the socket.
class MetricStream {
 public:
  explicit MetricStream(std::unique_ptr<MetricSubscription> subscription) : subscription_(std::move(subscription)) {}

  absl::StatusOr<StreamStep> Next(grpc::ByteBuffer& out) {
    std::shared_ptr<const StreamMessage> message;
    const absl::StatusOr<StreamStep> step = subscription_->Next(message);
    if (step.ok() && *step == StreamStep::kItem) {
      // gRPC only reads it, and says when it needs it no more.
      auto* data = const_cast<char*>(message->bytes().data());
      const size_t size = message->bytes().size();
      const grpc::Slice slice(
          data, size, [](void* held) { delete static_cast<std::shared_ptr<const StreamMessage>*>(held); },
          new std::shared_ptr<const StreamMessage>(std::move(message)));
      grpc::ByteBuffer(&slice, 1).Swap(&out);
    }
    return step;
  }

 private:
  const std::unique_ptr<MetricSubscription> subscription_;
};

}  // namespace ddp

#endif  // DDP_SERVER_API_METRIC_STREAM_H_
