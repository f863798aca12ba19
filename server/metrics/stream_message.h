// What subscribers of a job's metrics get: made once, sent to many.
#ifndef DDP_SERVER_METRICS_STREAM_MESSAGE_H_
#define DDP_SERVER_METRICS_STREAM_MESSAGE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/base/call_once.h"
#include "ddp/v1/metric.pb.h"

namespace ddp {

// Thread-safe.
class StreamMessage {
 public:
  using Batch = std::shared_ptr<const v1::StreamMetricsResponse>;
  explicit StreamMessage(Batch batch) : batch_(std::move(batch)) {}
  const v1::StreamMetricsResponse& response() const { return *batch_; }
  // On the wire; serialised when somebody asks for the first time.
  const std::string& bytes() const {
    absl::call_once(serialised_, [this] { bytes_ = batch_->SerializeAsString(); });
    return bytes_;
  }

 private:
  const Batch batch_;
  mutable absl::once_flag serialised_;
  mutable std::string bytes_;
};

}  // namespace ddp

#endif  // DDP_SERVER_METRICS_STREAM_MESSAGE_H_
