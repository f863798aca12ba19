// Several streams as one.
#ifndef DDP_SERVER_API_LIVE_SOURCE_H_
#define DDP_SERVER_API_LIVE_SOURCE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "ddp/v1/live.pb.h"
#include "server/api/context.h"
#include "server/stream_step.h"

namespace ddp {

inline constexpr int kMostTopics = 64;
inline constexpr absl::Duration kKeepAliveAfter = absl::Seconds(10);
// How often a source that has to be asked (log files) is asked.
inline constexpr absl::Duration kPollEvery = absl::Milliseconds(100);

// The source of Follow. Next() by one thread at a time. Topics take turns, so that a busy one does not starve the
// others.
class LiveFollower {
 public:
  static absl::StatusOr<std::unique_ptr<LiveFollower>> Make(ApiContext& api, const v1::FollowRequest& request,
                                                            std::function<void()> wake, Clock& clock = Clock::System());
  absl::StatusOr<StreamStep> Next(v1::FollowResponse& out);

 private:
  // A stream of one topic, which writes its messages into the common one.
  using Source = std::function<absl::StatusOr<StreamStep>(v1::FollowResponse& out)>;
  struct Topic {
    Source next;  // null: it has ended
    absl::Status refused;
    std::atomic<bool> ready{true};  // it may have something
    bool polled = false;            // it does not say when it has
    absl::Duration poll_at;         // Clock::Monotonic
  };

  LiveFollower(Clock& clock, std::function<void()> wake) : clock_(clock), wake_(std::move(wake)) {}
  static absl::StatusOr<Source> Open(ApiContext& api, const v1::Topic& topic, std::function<void()> wake);
  // Whether the topic had something for `out`.
  bool Ask(Topic& topic, v1::FollowResponse& out);

  Clock& clock_;
  const std::function<void()> wake_;
  std::vector<std::unique_ptr<Topic>> topics_;
  size_t turn_ = 0;
  absl::Duration last_sent_;
};

}  // namespace ddp

#endif  // DDP_SERVER_API_LIVE_SOURCE_H_
