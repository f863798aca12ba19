// The runner's line to the coordinator. Training never waits for it.
#ifndef DDP_RUNNER_LINK_H_
#define DDP_RUNNER_LINK_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "ddp/v1/runner.grpc.pb.h"
#include "ddp/v1/worker.pb.h"

namespace ddp {

// Sends events.log from wherever the coordinator stands, reconnects for ever, and hears its commands. The callbacks
// come on threads of the link. Thread-safe.
class Link {
 public:
  struct Callbacks {
    std::function<void(bool force)> stop;
    // This attempt is not the job's live one any more, or unknown: its workers have to go.
    std::function<void()> fenced;
  };
  Link(const v1::Launch& launch, Callbacks callbacks);
  // Ends the connection at once.
  ~Link();

  // Events up to seq are in the file.
  void Written(uint64_t seq);
  // Waits until the coordinator has acknowledged everything written, at most this long. False: it has not.
  bool WaitForAcks(absl::Duration timeout);

 private:
  using Stream = grpc::ClientReaderWriter<v1::RunnerMessage, v1::CoordinatorMessage>;

  void Run();
  // One connection from hello to loss. The answer says how it ended.
  grpc::Status Serve();
  void ReadLoop(Stream& stream);
  void SendFrom(uint64_t acked, Stream& stream);

  const v1::Launch launch_;
  const Callbacks callbacks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t written_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t acked_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;  // the current stream
  bool served_ ABSL_GUARDED_BY(mutex_) = false;  // the last connection got as far as a hello
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::thread thread_;
};

}  // namespace ddp

#endif  // DDP_RUNNER_LINK_H_
