#include "server/api/live_source.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "server/api/log_source.h"
#include "server/manager/watch.h"
#include "server/manager/watch_all.h"
#include "server/metrics/subscription.h"

namespace ddp {

absl::StatusOr<LiveFollower::Source> LiveFollower::Open(ApiContext& api, const v1::Topic& topic,
                                                        std::function<void()> wake) {
  switch (topic.topic_case()) {
    case v1::Topic::kJobs: {
      std::shared_ptr<JobsSubscription> jobs = api.manager.WatchAll(std::move(wake));
      return [jobs](v1::FollowResponse& out) { return jobs->Next(*out.mutable_jobs()); };
    }
    case v1::Topic::kJob: {
      DDP_ASSIGN_OR_RETURN(std::shared_ptr<JobSubscription> job,
                           api.manager.Watch(topic.job().id(), topic.job().after_event(), std::move(wake)));
      return [job](v1::FollowResponse& out) { return job->Next(*out.mutable_job()); };
    }
    case v1::Topic::kMetrics: {
      DDP_ASSIGN_OR_RETURN(const v1::Job job, api.manager.Get(topic.metrics().job_id()));
      // A page asks for curves as well, whose seq may lie between two batches of a merged message.
      std::shared_ptr<MetricSubscription> metrics =
          api.hub.Subscribe(job.id(), topic.metrics().after_seq(), std::move(wake), /*merging=*/false);
      return [metrics](v1::FollowResponse& out) { return metrics->Next(*out.mutable_metrics()); };
    }
    case v1::Topic::kLogs: {
      DDP_ASSIGN_OR_RETURN(std::shared_ptr<LogFollower> logs, LogFollower::Make(api.manager, topic.logs()));
      return [logs](v1::FollowResponse& out) { return logs->Next(*out.mutable_logs()); };
    }
    case v1::Topic::TOPIC_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("the topic is none of jobs, job, metrics and logs");
}

absl::StatusOr<std::unique_ptr<LiveFollower>> LiveFollower::Make(ApiContext& api, const v1::FollowRequest& request,
                                                                 std::function<void()> wake, Clock& clock) {
  if (request.topics().empty() || request.topics_size() > kMostTopics) {
    return absl::InvalidArgumentError(
        absl::StrCat("topics has ", request.topics_size(), " entries; it must have 1 to ", kMostTopics));
  }
  std::unique_ptr<LiveFollower> follower(new LiveFollower(clock, std::move(wake)));
  follower->last_sent_ = clock.Monotonic();
  for (const v1::Topic& wanted : request.topics()) {
    Topic& topic = *follower->topics_.emplace_back(std::make_unique<Topic>());
    // The source is a part of the topic, which is a part of the follower.
    absl::StatusOr<Source> source = Open(api, wanted, [&topic, all = follower.get()] {
      topic.ready = true;
      all->wake_();
    });
    if (source.ok()) {
      topic.next = *std::move(source);
    } else {
      topic.refused = source.status();
      topic.next = [&topic](v1::FollowResponse&) -> absl::StatusOr<StreamStep> { return topic.refused; };
    }
  }
  return follower;
}

bool LiveFollower::Ask(Topic& topic, v1::FollowResponse& out) {
  if (topic.next == nullptr) return false;
  if (topic.polled ? clock_.Monotonic() < topic.poll_at : !topic.ready) return false;
  topic.ready = false;  // before it is asked: who wakes it meanwhile sets it again
  topic.polled = false;
  const absl::StatusOr<StreamStep> step = topic.next(out);
  if (step.ok() && *step == StreamStep::kItem) {
    topic.ready = true;
    return true;
  }
  out.Clear();
  if (step.ok() && *step != StreamStep::kEnd) {
    topic.polled = *step == StreamStep::kPoll;
    topic.poll_at = clock_.Monotonic() + kPollEvery;
    return false;
  }
  topic.next = nullptr;
  v1::TopicEnd& end = *out.mutable_end();
  if (!step.ok()) {
    end.set_code(static_cast<int>(step.status().code()));
    end.set_message(std::string(step.status().message()));
  }
  return true;
}

absl::StatusOr<StreamStep> LiveFollower::Next(v1::FollowResponse& out) {
  out.Clear();
  for (size_t i = 0; i < topics_.size(); ++i) {
    const size_t index = turn_;
    turn_ = (turn_ + 1) % topics_.size();
    if (!Ask(*topics_[index], out)) continue;
    out.set_topic(static_cast<int>(index));
    last_sent_ = clock_.Monotonic();
    return StreamStep::kItem;
  }
  bool open = false;
  bool polled = false;
  for (const auto& topic : topics_) {
    open |= topic->next != nullptr;
    polled |= topic->next != nullptr && topic->polled;
  }
  if (!open) return StreamStep::kEnd;
  if (clock_.Monotonic() - last_sent_ >= kKeepAliveAfter) {
    out.mutable_keep_alive();
    last_sent_ = clock_.Monotonic();
    return StreamStep::kItem;
  }
  return polled ? StreamStep::kPoll : StreamStep::kIdle;
}

}  // namespace ddp
