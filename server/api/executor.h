// Threads for work that may block (commits, checks, files), so that gRPC's own threads never do.
#ifndef DDP_SERVER_API_EXECUTOR_H_
#define DDP_SERVER_API_EXECUTOR_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace ddp {

// Thread-safe. Post never blocks. The destructor finishes what is due and drops what is not.
class Executor {
 public:
  explicit Executor(int threads);
  ~Executor();
  void Post(std::function<void()> task) { PostAfter(absl::ZeroDuration(), std::move(task)); }
  void PostAfter(absl::Duration delay, std::function<void()> task);

 private:
  struct Task {
    absl::Time due;
    uint64_t number;
    std::function<void()> run;
    bool operator<(const Task& other) const { return std::pair(due, number) > std::pair(other.due, other.number); }
  };
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::priority_queue<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_number_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace ddp

#endif  // DDP_SERVER_API_EXECUTOR_H_
