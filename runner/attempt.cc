#include "runner/attempt.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "attempt/records.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "runner/descendants.h"
#include "runner/log_tail.h"

namespace ddp {

namespace {

// An echo of a lost peer is seen before its cause now and then: the cause has this long to show itself.
constexpr absl::Duration kEchoGrace = absl::Milliseconds(300);
// When all ranks have said that their work is done, or the first of them has left, the others have this long to leave.
constexpr absl::Duration kPartingGrace = absl::Seconds(30);
// A failure is a rank's last word; one that does not exit after it hangs, and may be the only one that could end.
constexpr absl::Duration kFailureGrace = absl::Seconds(2);
constexpr absl::Duration kExitRecordPatience = absl::Seconds(20);
constexpr absl::Duration kLastWords = absl::Seconds(2);

}  // namespace

Attempt::Attempt(v1::Launch launch, int lock_fd, Clock& clock, SystemProbe& probe)
    : launch_(std::move(launch)),
      lock_fd_(lock_fd),
      clock_(clock),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      sampler_(probe, clock) {}

Attempt::~Attempt() = default;

absl::Status Attempt::Run() {
  absl::StatusOr<EventLog> log = EventLog::Open(launch_.attempt_dir(), clock_);
  if (!log.ok()) return log.status();
  log_ = std::make_unique<EventLog>(*std::move(log));
  AdoptOrphans();
  const absl::Status started = Start();
  link_ = std::make_unique<Link>(launch_, Link::Callbacks{.stop = [this](bool force) { RequestStop(force); },
                                                          .fenced = [this] { RequestStop(/*force=*/true); }});
  link_->Written(log_->written_seq());
  v1::AttemptEnded ended;
  if (started.ok()) {
    Loop();
    std::vector<RankRecord> records;
    for (const Rank& rank : ranks_) records.push_back(rank.record);
    ended = Judge(records, applied_, last_step_, saved_step_);
    if (ended.failure().rank() >= 0 && ended.has_failure()) {
      ended.mutable_failure()->set_log_tail(
          LogTail(absl::StrCat(launch_.attempt_dir(), "/rank-", ended.failure().rank(), ".log")));
    }
  } else {
    ended = FailedWithoutRank(std::string(started.message()), /*step=*/0);
  }
  if (!KillDescendants(absl::Seconds(5))) LogError("processes that the workers started cannot be killed");
  return Finish(ended);
}

void Attempt::RequestStop(bool force) {
  int wanted = static_cast<int>(force ? StopRequest::kForce : StopRequest::kSave);
  int current = requested_.load();
  while (current < wanted && !requested_.compare_exchange_weak(current, wanted)) {
  }
  const uint64_t one = 1;
  // Full means that a wake-up is waiting already.
  if (write(wake_.get(), &one, sizeof(one)) < 0) return;
}

absl::Status Attempt::Start() {
  DDP_ASSIGN_OR_RETURN(StartedRanks started, StartRanks(launch_, lock_fd_));
  v1::RunnerEvent event;
  event.mutable_ranks_started()->set_store_port(started.store_port);
  for (WorkerProcess& process : started.ranks) {
    event.mutable_ranks_started()->add_pids(process.child.pid);
    const int flags = fcntl(process.socket.get(), F_GETFL);
    fcntl(process.socket.get(), F_SETFL, flags | O_NONBLOCK);
    ranks_.emplace_back();
    ranks_.back().process = std::move(process);
  }
  Record(std::move(event));
  return absl::OkStatus();
}

bool Attempt::AllEnded() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.record.exit.has_value(); });
}

void Attempt::Loop() {
  while (!AllEnded()) {
    Poll();
    for (size_t r = 0; r < ranks_.size(); ++r) Drain(ranks_[r], static_cast<int>(r));
    ReapEnded();
    ApplyStop();
    ApplyDeadlines();
    SampleSystem();
    if (log_->Flush().ok()) {
      link_->Written(log_->written_seq());
      AnswerSyncs();
    }
  }
}

int Attempt::PollTimeoutMs() const {
  const absl::Duration next = std::min({terminate_at_, kill_at_, sampler_.due()});
  if (next == absl::InfiniteDuration()) return 1000;
  const int64_t ms = absl::ToInt64Milliseconds(absl::Ceil(next - clock_.Monotonic(), absl::Milliseconds(1)));
  return static_cast<int>(std::clamp<int64_t>(ms, 0, 1000));
}

void Attempt::Poll() {
  std::vector<pollfd> fds{{wake_.get(), POLLIN, 0}};
  for (const Rank& rank : ranks_) {
    if (!rank.record.exit) fds.push_back({rank.process.child.pidfd.get(), POLLIN, 0});
    if (rank.socket_open) fds.push_back({rank.process.socket.get(), POLLIN, 0});
  }
  poll(fds.data(), fds.size(), PollTimeoutMs());
  uint64_t count = 0;
  while (read(wake_.get(), &count, sizeof(count)) > 0) {
  }
}

void Attempt::Drain(Rank& rank, int number) {
  char buffer[1 << 16];
  while (rank.socket_open) {
    const ssize_t n = recv(rank.process.socket.get(), buffer, sizeof(buffer), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) {
      rank.socket_open = false;
      return;
    }
    rank.decoder.Append({buffer, static_cast<size_t>(n)});
    for (;;) {
      absl::StatusOr<std::optional<std::string>> frame = rank.decoder.Next();
      v1::WorkerEvent event;
      if (!frame.ok() || (*frame && !event.ParseFromString(**frame))) {
        LogError(absl::StrCat("rank ", number, " sent bytes that are no event; it is not heard any more"));
        rank.socket_open = false;
        return;
      }
      if (!*frame) break;
      TakeEvent(rank, number, std::move(event));
    }
  }
}

void Attempt::AnswerSyncs() {
  for (Rank& rank : ranks_) {
    if (rank.sync == 0) continue;
    v1::WorkerCommand command;
    command.set_recorded(rank.sync);
    const std::string frame = EncodeFrame(command.SerializeAsString());
    // A few bytes always fit into an idle socket; nobody waits in a rank that is gone.
    send(rank.process.socket.get(), frame.data(), frame.size(), MSG_NOSIGNAL);
    rank.sync = 0;
  }
}

void Attempt::TakeEvent(Rank& rank, int number, v1::WorkerEvent event) {
  if (event.has_sync()) {
    rank.sync = event.sync();
    return;
  }
  // What a rank says after a signal of ours is about that signal; after the end of its work, about its teardown.
  if (event.has_failure() && !rank.record.ended_by_us && !rank.record.finished) {
    rank.record.failure = event.failure();
    rank.record.failure_order = ++failures_heard_;
    kill_at_ = std::min(kill_at_, clock_.Monotonic() + kFailureGrace);
  }
  if (event.has_finished()) {
    rank.record.finished = event.finished();
    if (std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.record.finished.has_value(); })) {
      kill_at_ = std::min(kill_at_, clock_.Monotonic() + kPartingGrace);
    }
  }
  if (event.has_progress()) last_step_ = std::max(last_step_, event.progress().step());
  last_step_ = std::max(last_step_, LastStep(event.metrics()));
  if (event.has_begun()) {
    last_step_ = std::max(last_step_, event.begun().start_step());
    std::vector<pid_t> pids;
    for (const Rank& each : ranks_) pids.push_back(each.process.child.pid);
    sampler_.Begin(pids);
  }
  if (event.has_checkpoint()) {
    saved_step_ = std::max(saved_step_, event.checkpoint().step());
    last_step_ = std::max(last_step_, saved_step_);
  }
  v1::RunnerEvent record;
  record.mutable_from_rank()->set_rank(number);
  *record.mutable_from_rank()->mutable_event() = std::move(event);
  Record(std::move(record));
}

void Attempt::ReapEnded() {
  for (size_t r = 0; r < ranks_.size(); ++r) {
    Rank& rank = ranks_[r];
    if (rank.record.exit) continue;
    const std::optional<ExitStatus> exit = Reap(rank.process.child.pid, /*wait=*/false);
    if (!exit) continue;
    sampler_.Ended(r);
    Drain(rank, static_cast<int>(r));  // its last words
    rank.record.exit = exit;
    rank.record.exit_order = ++exits_seen_;
    LogInfo(absl::StrCat("rank ", r, " ended: ", exit->ToString()));
    const absl::Duration now = clock_.Monotonic();
    if (IsRealFailure(rank.record)) {
      kill_at_ = now;
    } else {
      kill_at_ = std::min(kill_at_, now + (IsEcho(rank.record) ? kEchoGrace : kPartingGrace));
    }
  }
}

void Attempt::ApplyStop() {
  const auto wanted = static_cast<StopRequest>(requested_.load());
  if (wanted <= applied_) return;
  applied_ = wanted;
  const absl::Duration now = clock_.Monotonic();
  if (wanted == StopRequest::kForce) {
    kill_at_ = now;
    return;
  }
  v1::WorkerCommand command;
  command.mutable_stop()->set_save(true);
  const std::string frame = EncodeFrame(command.SerializeAsString());
  for (const Rank& rank : ranks_) {
    // A few bytes always fit into an idle socket; a rank that is gone is judged by its exit.
    if (!rank.record.exit) send(rank.process.socket.get(), frame.data(), frame.size(), MSG_NOSIGNAL);
  }
  terminate_at_ = now + absl::Seconds(launch_.stop_grace_seconds());
}

void Attempt::ApplyDeadlines() {
  const absl::Duration now = clock_.Monotonic();
  if (now >= terminate_at_) {
    terminate_at_ = absl::InfiniteDuration();
    LogWarning("the workers did not stop in time: SIGTERM");
    SignalRanks(SIGTERM);
    kill_at_ = std::min(kill_at_, now + absl::Seconds(launch_.stop_grace_seconds()));
  }
  if (now >= kill_at_) {
    kill_at_ = absl::InfiniteDuration();
    SignalRanks(SIGKILL);
  }
}

void Attempt::SampleSystem() {
  if (clock_.Monotonic() < sampler_.due()) return;
  v1::MetricBatch points = sampler_.Sample(last_step_);
  if (points.columns().empty()) return;
  // A job's points are those of its rank 0; whom they are about is in the names of the series.
  v1::RunnerEvent event;
  event.mutable_from_rank()->set_rank(0);
  *event.mutable_from_rank()->mutable_event()->mutable_metrics() = std::move(points);
  Record(std::move(event));
}

void Attempt::SignalRanks(int signal) {
  for (size_t r = 0; r < ranks_.size(); ++r) {
    Rank& rank = ranks_[r];
    if (rank.record.exit) continue;
    Drain(rank, static_cast<int>(r));  // said before the signal
    // A rank that has ended by itself a moment ago must not be taken for one that we ended.
    pollfd ended{rank.process.child.pidfd.get(), POLLIN, 0};
    if (poll(&ended, 1, 0) > 0) continue;
    rank.record.ended_by_us = true;
    kill(-rank.process.child.pid, signal);
  }
}

void Attempt::Record(v1::RunnerEvent event) {
  const absl::Status status = log_->Append(std::move(event));
  if (!status.ok()) LogWarning(absl::StrCat("an event waits to be written: ", std::string(status.message())));
  if (status.ok() && link_ != nullptr) link_->Written(log_->written_seq());
}

absl::Status Attempt::Finish(const v1::AttemptEnded& ended) {
  v1::RunnerEvent event;
  *event.mutable_ended() = ended;
  // The record is what the coordinator waits for; a disk that is full for a moment must not lose it.
  const absl::Duration give_up = clock_.Monotonic() + kExitRecordPatience;
  absl::Status logged = log_->Append(std::move(event));
  absl::Status written =
      WriteFileAtomic(absl::StrCat(launch_.attempt_dir(), "/", kExitRecordName), ended.SerializeAsString());
  while ((!logged.ok() || !written.ok()) && clock_.Monotonic() < give_up) {
    absl::SleepFor(absl::Milliseconds(200));
    logged = log_->Flush();
    if (!written.ok()) {
      written = WriteFileAtomic(absl::StrCat(launch_.attempt_dir(), "/", kExitRecordName), ended.SerializeAsString());
    }
  }
  link_->Written(log_->written_seq());
  link_->WaitForAcks(kLastWords);
  link_.reset();
  DDP_RETURN_IF_ERROR(logged);
  return written;
}

}  // namespace ddp
