#include "client/verbs/log_tail.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace ddp {

namespace {
constexpr int kFirstLines = 10;
constexpr int kLinesAfterABreak = 1000;
constexpr std::chrono::seconds kLastLines{2};
constexpr std::chrono::milliseconds kRetry{200};
}  // namespace

LogTail::LogTail(const Globals& globals, const std::string& job, InterruptGuard& interrupt, Terminal& terminal)
    : globals_(globals), job_(job), interrupt_(interrupt), terminal_(terminal), thread_([this] { Run(); }) {}

LogTail::~LogTail() {
  {
    std::lock_guard lock(mutex_);
    leaving_ = true;
    if (context_ != nullptr) context_->TryCancel();
  }
  changed_.notify_all();
  thread_.join();
}

void LogTail::Finish() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kLastLines, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return done_; });
}

void LogTail::Run() {
  for (;;) {
    const std::unique_ptr<Connection> connection = Connection::Find(globals_.connection);
    const bool again = connection == nullptr || FollowOnce(*connection);
    std::unique_lock lock(mutex_);
    if (leaving_ || !again || interrupt_.interrupted()) break;
    changed_.wait_for(lock, kRetry, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return leaving_; });
  }
  std::lock_guard lock(mutex_);
  done_ = true;
  changed_.notify_all();
}

bool LogTail::FollowOnce(Connection& connection) {
  v1::FollowLogRequest request;
  request.set_job_id(job_);
  request.set_rank(0);
  request.set_attempt(attempt_);
  request.set_tail(attempt_ == 0 ? kFirstLines : kLinesAfterABreak);
  known_.Repeat();
  const auto context = connection.Context(absl::InfiniteDuration());
  const RunningCall scope(interrupt_.calls(), context.get());
  {
    std::lock_guard lock(mutex_);
    if (leaving_) return false;
    context_ = context.get();
  }
  const auto stream = connection.logs().Follow(context.get(), request);
  for (v1::FollowLogResponse response; stream->Read(&response);) {
    std::vector<std::string> lines;
    for (const v1::LogLine& line : response.lines()) {
      attempt_ = line.attempt();
      lines.push_back(line.text());
    }
    for (const std::string& line : known_.New(lines)) terminal_.Print(absl::StrCat("rank 0 | ", line));
  }
  const grpc::Status status = stream->Finish();
  std::lock_guard lock(mutex_);
  context_ = nullptr;
  return status.error_code() == grpc::StatusCode::UNAVAILABLE;
}

}  // namespace ddp
