// The log of a watched job.
#ifndef DDP_CLIENT_VERBS_LOG_TAIL_H_
#define DDP_CLIENT_VERBS_LOG_TAIL_H_

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "client/interrupt.h"
#include "client/known_lines.h"
#include "client/terminal.h"
#include "client/verbs/verbs.h"

namespace ddp {

// Prints the lines of rank 0, from the last few on, while it lives. Goes on by itself when the daemon is restarted.
class LogTail {
 public:
  LogTail(const Globals& globals, const std::string& job, InterruptGuard& interrupt, Terminal& terminal);
  ~LogTail();
  // The job has ended: waits a moment for its last lines.
  void Finish();

 private:
  void Run();
  // False: the log has ended, or cannot be had.
  bool FollowOnce(Connection& connection);

  const Globals& globals_;
  const std::string job_;
  InterruptGuard& interrupt_;
  Terminal& terminal_;
  KnownLines known_;  // of thread_
  int attempt_ = 0;   // of thread_; 0: none yet
  std::mutex mutex_;
  std::condition_variable changed_;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool leaving_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace ddp

#endif  // DDP_CLIENT_VERBS_LOG_TAIL_H_
