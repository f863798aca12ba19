// What ddpctl top knows of the daemon.
#ifndef DDP_CLIENT_VERBS_TOP_FEED_H_
#define DDP_CLIENT_VERBS_TOP_FEED_H_

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "client/connection.h"
#include "client/running_calls.h"
#include "client/top_view.h"

namespace ddp {

struct TopSnapshot {
  std::vector<v1::Job> jobs;  // all live ones and the newest ended ones
  v1::SystemInfo info;
};
// As it is now. Throws ExitError.
TopSnapshot TakeSnapshot(Connection& connection);

// Follows all jobs on one thread and steers them on another, so that a slow daemon never holds up a key; looks for the
// daemon again when it is gone or says nothing for longer than a living one would. Wakes `event_fd` when there is
// something new to take.
class TopFeed {
 public:
  struct News {
    std::optional<TopSnapshot> snapshot;     // since the last Take
    std::string message;                     // of an action since the last Take
    std::string trouble;                     // why nothing new comes; "": it does, or nothing has gone wrong yet
    absl::Time told = absl::InfinitePast();  // when the daemon last vouched for what it had told
  };

  TopFeed(const ConnectionOptions& options, int event_fd);
  ~TopFeed();
  News Take();
  void Ask(const TopAction& action);

 private:
  void Follow();
  // Until the stream ends: why it did.
  std::string FollowOnce(Connection& connection);
  void Publish(TopSnapshot snapshot);
  void Act();

  const ConnectionOptions options_;
  const int event_fd_;
  RunningCalls calls_;
  std::mutex mutex_;
  std::condition_variable changed_;
  News news_ ABSL_GUARDED_BY(mutex_);
  std::deque<TopAction> asked_ ABSL_GUARDED_BY(mutex_);
  grpc::ClientContext* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;    // null: none runs
  absl::Time heard_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();  // of the stream's daemon
  bool leaving_ ABSL_GUARDED_BY(mutex_) = false;
  // The last members: they use the others.
  std::thread follower_;
  std::thread actor_;
};

}  // namespace ddp

#endif  // DDP_CLIENT_VERBS_TOP_FEED_H_
