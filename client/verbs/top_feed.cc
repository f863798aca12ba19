#include "client/verbs/top_feed.h"

#include <utility>

#include "absl/time/clock.h"
#include "client/exit_codes.h"
#include "client/job_set.h"
#include "client/resize.h"
#include "client/verbs/top_actions.h"

namespace ddp {

namespace {

constexpr size_t kNewestEnded = 100;
constexpr char kNobody[] = "no daemon answers";
constexpr std::chrono::milliseconds kRetry{500};
constexpr std::chrono::seconds kCheck{1};
// The daemon sends something every 10 seconds (KeepAlive in live.proto).
constexpr absl::Duration kSilent = absl::Seconds(15);
constexpr absl::Duration kDeadline = absl::Seconds(10);

grpc::Status GetInfo(Connection& connection, RunningCalls& calls, v1::SystemInfo& info) {
  const auto context = connection.Context(kDeadline);
  const RunningCall scope(calls, context.get());
  return connection.system().GetInfo(context.get(), {}, &info);
}

std::string TroubleText(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::CANCELLED:  // by us: it was silent
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return kNobody;
    default:
      return ErrorOf(status).what();
  }
}

}  // namespace

TopSnapshot TakeSnapshot(Connection& connection) {
  JobSet jobs;
  grpc::Status status;
  {
    const auto context = connection.Context();
    const auto stream = connection.jobs().WatchAll(context.get(), {});
    for (v1::WatchJobsResponse update; !jobs.complete() && stream->Read(&update);) jobs.Apply(update);
    context->TryCancel();
    status = stream->Finish();
  }
  TopSnapshot snapshot;
  if (jobs.complete()) {
    RunningCalls calls;
    status = GetInfo(connection, calls, snapshot.info);
  }
  if (!status.ok()) throw ErrorOf(status);
  snapshot.jobs = jobs.Newest(kNewestEnded);
  return snapshot;
}

TopFeed::TopFeed(const ConnectionOptions& options, int event_fd)
    : options_(options), event_fd_(event_fd), follower_([this] { Follow(); }), actor_([this] { Act(); }) {}

TopFeed::~TopFeed() {
  {
    std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  calls_.CancelAll();
  follower_.join();
  actor_.join();
}

TopFeed::News TopFeed::Take() {
  std::lock_guard lock(mutex_);
  News news = news_;
  news_.snapshot.reset();
  news_.message.clear();
  return news;
}

void TopFeed::Ask(const TopAction& action) {
  {
    std::lock_guard lock(mutex_);
    asked_.push_back(action);
  }
  changed_.notify_all();
}

void TopFeed::Follow() {
  for (;;) {
    std::string trouble = kNobody;
    try {
      // Anew each time: a daemon that has been restarted listens elsewhere.
      if (const std::unique_ptr<Connection> connection = Connection::Find(options_)) trouble = FollowOnce(*connection);
    } catch (const ExitError& e) {
      trouble = e.what();
    }
    std::unique_lock lock(mutex_);
    if (leaving_) return;
    news_.trouble = trouble;
    Wake(event_fd_);
    if (changed_.wait_for(lock, kRetry, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return leaving_; })) return;
  }
}

std::string TopFeed::FollowOnce(Connection& connection) {
  v1::FollowRequest request;
  request.add_topics()->mutable_jobs();
  const auto context = connection.Context(absl::InfiniteDuration());
  const RunningCall scope(calls_, context.get());
  {
    std::lock_guard lock(mutex_);
    stream_ = context.get();
    heard_ = absl::Now();
  }
  JobSet jobs;
  v1::SystemInfo info;
  bool slots_known = false;
  grpc::Status status;
  const auto stream = connection.live().Follow(context.get(), request);
  for (v1::FollowResponse response; status.ok() && stream->Read(&response);) {
    if (response.has_end()) {
      status = {static_cast<grpc::StatusCode>(response.end().code()), response.end().message()};
      break;
    }
    if (response.has_jobs()) {
      slots_known &= !jobs.Apply(response.jobs());
      if (jobs.complete() && !slots_known) status = GetInfo(connection, calls_, info);
      slots_known = jobs.complete();
      if (slots_known && status.ok()) Publish({jobs.Newest(kNewestEnded), info});
    }
    std::lock_guard lock(mutex_);
    heard_ = absl::Now();
    if (jobs.complete()) news_.told = heard_;
  }
  context->TryCancel();
  const grpc::Status ended = stream->Finish();
  std::lock_guard lock(mutex_);
  stream_ = nullptr;
  return TroubleText(status.ok() ? ended : status);
}

void TopFeed::Publish(TopSnapshot snapshot) {
  {
    std::lock_guard lock(mutex_);
    news_.snapshot = std::move(snapshot);
    news_.trouble.clear();
  }
  Wake(event_fd_);
}

void TopFeed::Act() {
  for (;;) {
    TopAction action;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kCheck, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return leaving_ || !asked_.empty(); });
      if (leaving_) return;
      if (stream_ != nullptr && absl::Now() - heard_ > kSilent) stream_->TryCancel();
      if (asked_.empty()) continue;
      action = asked_.front();
      asked_.pop_front();
    }
    const std::string message = DoAction(action, options_, calls_);
    {
      std::lock_guard lock(mutex_);
      news_.message = message;
    }
    Wake(event_fd_);
  }
}

}  // namespace ddp
