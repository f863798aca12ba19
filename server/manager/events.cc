// What runners report.
//
// Metrics and progress ("quiet") come often: they are handed to the store and acknowledged when it has committed,
// nobody waits. Everything else ("loud") changes the job and is committed before the call returns. Both carry
// Acknowledge, so each event is stored exactly once, in order, whatever fails in between.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "attempt/event_log.h"
#include "attempt/records.h"
#include "common/ids.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "server/manager/job_manager.h"
#include "server/metrics/columns.h"
#include "server/store/convert.h"
#include "server/telemetry.h"

namespace ddp {

namespace {

constexpr absl::Duration kProgressEvery = absl::Milliseconds(500);

v1::CoordinatorMessage AckOf(uint64_t seq) {
  v1::CoordinatorMessage message;
  message.mutable_ack()->set_seq(seq);
  return message;
}

}  // namespace

absl::StatusOr<JobManager::Entry*> JobManager::LiveEntry(const v1::RunnerHello& hello) {
  const auto found = jobs_.find(hello.job_id());
  if (found == jobs_.end()) return absl::NotFoundError(absl::StrCat("there is no job ", hello.job_id()));
  Entry& entry = found->second;
  const v1::Job& job = entry.record.job;
  if (!HasAttempt(job.state()) || job.attempts_size() != hello.attempt() ||
      !SecretsEqual(entry.record.secret, hello.secret())) {
    return absl::PermissionDeniedError(
        absl::StrCat("attempt ", hello.attempt(), " of job ", hello.job_id(), " is not the live one"));
  }
  return &entry;
}

absl::Status JobManager::Attach(const v1::RunnerHello& hello, const std::shared_ptr<RunnerSession>& session) {
  std::lock_guard lock(mutex_);
  DDP_ASSIGN_OR_RETURN(Entry* const entry, LiveEntry(hello));
  entry->record.job.mutable_attempts(hello.attempt() - 1)->set_runner_pid(hello.pid());
  v1::CoordinatorMessage reply;
  {
    std::lock_guard feed_lock(entry->feed->mutex);
    Feed& feed = *entry->feed;
    if (feed.failed) {
      // What was given to the store after a failed commit is refused there as well; the runner sends it again.
      feed.failed = false;
      feed.staged = feed.committed;
      parts_.hub.Rewind(hello.job_id());
    }
    feed.session = session;
    reply.mutable_hello()->set_acked_seq(feed.staged);
  }
  session->Send(reply);
  const v1::JobState state = entry->record.job.state();
  if (state == v1::JOB_STATE_CANCELLING || state == v1::JOB_STATE_PAUSING) SendStop(*entry);
  return absl::OkStatus();
}

void JobManager::Detach(const v1::RunnerHello& hello, const RunnerSession* session) {
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(hello.job_id());
  if (found == jobs_.end() || found->second.feed == nullptr) return;
  std::lock_guard feed_lock(found->second.feed->mutex);
  if (found->second.feed->session.lock().get() == session) found->second.feed->session.reset();
}

absl::Status JobManager::HandleEvent(const v1::RunnerHello& hello, const v1::RunnerEvent& event) {
  std::lock_guard lock(mutex_);
  const absl::StatusOr<Entry*> entry = LiveEntry(hello);
  if (!entry.ok()) {
    if (event.has_from_rank()) telemetry.points_not_live += PointsOf(event.from_rank().event().metrics().columns());
    return entry.status();
  }
  return TakeEvent(**entry, event);
}

bool JobManager::IsQuiet(const v1::RunnerEvent& event) const {
  return event.has_from_rank() && (event.from_rank().event().has_metrics() ||
                                   event.from_rank().event().has_progress() || event.from_rank().event().has_phase());
}

absl::Status JobManager::TakeEvent(Entry& entry, const v1::RunnerEvent& event) {
  {
    std::lock_guard lock(entry.feed->mutex);
    Feed& feed = *entry.feed;
    if (feed.failed) return absl::AbortedError("an earlier event could not be stored");
    if (event.seq() <= feed.staged) return absl::OkStatus();  // sent again
    if (event.seq() != feed.staged + 1) {
      return absl::DataLossError(absl::StrCat("event ", event.seq(), " came after ", feed.staged));
    }
  }
  if (IsQuiet(event)) {
    TakeQuietEvent(entry, event);
    return absl::OkStatus();
  }
  return TakeLoudEvent(entry, event);
}

void JobManager::TakeQuietEvent(Entry& entry, const v1::RunnerEvent& event) {
  v1::Job& job = entry.record.job;
  const std::string id = job.id();
  v1::Attempt& attempt = *job.mutable_attempts(job.attempts_size() - 1);
  const v1::WorkerEvent& report = event.from_rank().event();
  WriteBatch batch;
  MetricHub::Batch points;
  if (report.has_metrics()) {
    const v1::MetricBatch& metrics = report.metrics();
    if (!metrics.histograms().empty()) {
      batch.AddHistograms(
          id, {attempt.number(), attempt.start_step(), {metrics.histograms().begin(), metrics.histograms().end()}});
    }
    if (!metrics.texts().empty()) {
      batch.AddTexts(id, {attempt.number(), attempt.start_step(), {metrics.texts().begin(), metrics.texts().end()}});
    }
    if (!metrics.columns().empty()) {
      points = parts_.hub.Stage(id, attempt.number(), attempt.start_step(), metrics, batch);
    }
    attempt.set_last_step(std::max(attempt.last_step(), LastStep(report.metrics())));
  } else if (report.has_progress()) {
    v1::Progress& progress = *job.mutable_progress();
    if (report.progress().step() > 0) {
      progress = report.progress();
    } else {
      // An attempt that has not taken a step yet knows only how it validates; the last step is an earlier attempt's.
      if (report.progress().has_valid_loss()) progress.set_valid_loss(report.progress().valid_loss());
      if (report.progress().has_valid_accuracy()) progress.set_valid_accuracy(report.progress().valid_accuracy());
    }
    if (parts_.clock.Monotonic() - entry.progress_stored_at >= kProgressEvery) {
      entry.progress_stored_at = parts_.clock.Monotonic();
      batch.SetProgress(id, progress);
    }
    ProgressChanged(entry);
  }
  batch.Acknowledge(id, attempt.number(), event.seq() - 1, event.seq());
  {
    std::lock_guard lock(entry.feed->mutex);
    entry.feed->staged = event.seq();
  }
  // On the store's thread: the manager's mutex may be held by somebody who waits for this very commit.
  parts_.store.Commit(std::move(batch),
                      [this, id, points, feed = entry.feed, seq = event.seq()](const absl::Status& status) {
                        if (status.ok() && points != nullptr) parts_.hub.Publish(id, points);
                        std::lock_guard lock(feed->mutex);
                        const std::shared_ptr<RunnerSession> session = feed->session.lock();
                        if (status.ok()) {
                          feed->committed = seq;
                          if (session != nullptr) session->Send(AckOf(seq));
                        } else {
                          feed->failed = true;
                          if (session != nullptr) session->Drop();
                        }
                      });
}

absl::Status JobManager::TakeLoudEvent(Entry& entry, const v1::RunnerEvent& event) {
  JobRecord record = entry.record;
  v1::Job& job = record.job;
  v1::Attempt& attempt = *job.mutable_attempts(job.attempts_size() - 1);
  const absl::Time time = absl::UnixEpoch() + absl::Seconds(event.time());
  WriteBatch batch;
  const auto note = [&](const std::string& text) {
    AddEvent(record, job.state(), attempt.number(), text, time, batch);
  };
  std::optional<v1::AttemptEnded> ended;
  if (event.has_ranks_started()) {
    *attempt.mutable_worker_pids() = event.ranks_started().pids();
  } else if (event.has_ended()) {
    ended = event.ended();
  } else {
    const v1::WorkerEvent& report = event.from_rank().event();
    if (report.has_begun()) {
      attempt.set_start_step(report.begun().start_step());
      attempt.set_last_step(report.begun().start_step());
      *attempt.mutable_facts() = report.begun().facts();
      job.mutable_progress()->set_step(report.begun().start_step());
      job.mutable_progress()->set_total_steps(report.begun().total_steps());
      std::string facts;
      const std::map<std::string, std::string> sorted(report.begun().facts().begin(), report.begun().facts().end());
      for (const auto& [name, value] : sorted) absl::StrAppend(&facts, facts.empty() ? "" : ", ", name, " ", value);
      note(absl::StrCat("training begins at step ", report.begun().start_step(), " of ", report.begun().total_steps(),
                        facts.empty() ? "" : ": ", facts));
    } else if (report.has_first_step()) {
      *attempt.mutable_first_step_time() = ToTimestamp(time);
      if (job.state() == v1::JOB_STATE_STARTING) {
        DDP_RETURN_IF_ERROR(
            Move(record, JobTrigger::kFirstStep, absl::StrCat("attempt ", attempt.number(), " trains"), batch));
      }
    } else if (report.has_checkpoint()) {
      job.set_checkpoint_step(report.checkpoint().step());
      attempt.set_last_step(std::max(attempt.last_step(), report.checkpoint().step()));
      // Saving again what the attempt has begun with is no progress.
      if (report.checkpoint().step() > attempt.start_step()) record.failures_in_row = 0;
      note(absl::StrCat("saved step ", report.checkpoint().step(), " in ", report.checkpoint().folder()));
    } else if (report.has_notice()) {
      note(report.notice().text());
    }
    // failure and finished are part of how the attempt ends, which the runner judges.
  }
  batch.PutAttempt(job.id(), attempt, record.secret);
  batch.Acknowledge(job.id(), attempt.number(), event.seq() - 1, event.seq());
  batch.PutJob(record);
  const bool moved = job.state() != entry.record.job.state();
  const absl::Status stored = parts_.store.CommitAndWait(std::move(batch));
  std::lock_guard lock(entry.feed->mutex);
  if (!stored.ok()) {
    entry.feed->failed = true;
    return stored;
  }
  entry.feed->staged = entry.feed->committed = event.seq();
  entry.record = std::move(record);
  if (event.from_rank().event().has_checkpoint()) {
    telemetry.checkpoint.Observe(absl::Seconds(event.from_rank().event().checkpoint().seconds()));
  }
  if (ended) entry.ended = std::move(ended);
  if (moved) LogInfo(absl::StrCat("job ", entry.record.job.id(), ": ", StateName(entry.record.job.state())));
  Changed(entry);
  if (const std::shared_ptr<RunnerSession> session = entry.feed->session.lock()) session->Send(AckOf(event.seq()));
  return absl::OkStatus();
}

absl::Status JobManager::DrainFiles(Entry& entry) {
  {
    // Whatever failed before is tried again from the last durable event.
    std::lock_guard lock(entry.feed->mutex);
    if (entry.feed->failed) {
      entry.feed->failed = false;
      entry.feed->staged = entry.feed->committed;
      parts_.hub.Rewind(entry.record.job.id());
    }
  }
  EventLogReader log(AttemptFolder(entry.record.job.id(), entry.record.job.attempts_size()));
  for (;;) {
    absl::StatusOr<std::optional<v1::RunnerEvent>> event = log.Next();
    if (!event.ok()) {
      // A torn or damaged tail: what is before it has been taken.
      LogWarning(std::string(event.status().message()));
      break;
    }
    if (!*event) break;
    DDP_RETURN_IF_ERROR(TakeEvent(entry, **event));
  }
  // Quiet events may still be on their way into the store: the end must not be published before them.
  return parts_.store.CommitAndWait(WriteBatch());
}

}  // namespace ddp
