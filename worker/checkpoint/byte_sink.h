// Where bytes go, one after the other.
#ifndef DDP_WORKER_CHECKPOINT_BYTE_SINK_H_
#define DDP_WORKER_CHECKPOINT_BYTE_SINK_H_

#include <string_view>

#include "absl/status/status.h"
#include "common/files.h"
#include "worker/checkpoint/xxh3.h"

namespace ddp {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  // May fail at any time (a full disk).
  virtual absl::Status Append(std::string_view bytes) = 0;
};

// A descriptor, and the checksum of what it got.
class HashedFdSink final : public ByteSink {
 public:
  explicit HashedFdSink(int fd) : fd_(fd) {}
  absl::Status Append(std::string_view bytes) override {
    hash_.Update(bytes);
    return WriteAll(fd_, bytes);
  }
  const Xxh3& hash() const { return hash_; }

 private:
  const int fd_;
  Xxh3 hash_;
};

}  // namespace ddp

#endif  // DDP_WORKER_CHECKPOINT_BYTE_SINK_H_
