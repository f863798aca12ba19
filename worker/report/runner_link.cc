#include "worker/report/runner_link.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/exit_codes.h"
#include "common/framing.h"
#include "common/status_macros.h"
#include "ddp/v1/worker.pb.h"
#include "worker/report/config_io.h"

namespace ddp {

namespace {

constexpr std::chrono::milliseconds kBatchAge{10};
constexpr std::chrono::seconds kRecordPatience{5};
// An event travels as one gRPC message of at most 16 MiB. A histogram is some 700 bytes at most, with a name of usual
// length, and a model has a few hundred tensors.
constexpr size_t kHistogramsPerEvent = 1000;

double UnixNow() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

void FillHistogram(const HistogramReport& from, double time, v1::Histogram* to) {
  to->set_series(from.series);
  to->set_step(from.step);
  to->set_time(time);
  to->set_min(from.min);
  to->set_max(from.max);
  to->mutable_counts()->Add(from.counts.begin(), from.counts.end());
  to->set_non_finite(from.non_finite);
}

void FillProgress(const ProgressReport& from, v1::Progress* to) {
  to->set_step(from.step);
  to->set_total_steps(from.total_steps);
  to->set_epoch(from.epoch);
  to->set_epochs(from.epochs);
  to->set_loss(from.loss);
  if (from.accuracy) to->set_accuracy(*from.accuracy);
  to->set_lr(from.lr);
  to->set_samples_per_second(from.samples_per_second);
  if (from.valid_loss) to->set_valid_loss(*from.valid_loss);
  if (from.valid_accuracy) to->set_valid_accuracy(*from.valid_accuracy);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunnerLink>> RunnerLink::Open(int fd, WorkerConfig* config) {
  DDP_ASSIGN_OR_RETURN(std::optional<std::string> frame, ReadFrame(fd));
  v1::WorkerCommand command;
  if (!frame || !command.ParseFromString(*frame) || !command.has_start()) {
    return absl::InvalidArgumentError(absl::StrCat("descriptor ", fd, " did not bring a start command"));
  }
  DDP_ASSIGN_OR_RETURN(*config, WorkerFromProto(command.start()));
  std::unique_ptr<RunnerLink> link(new RunnerLink(fd));
  link->listener_ = std::thread([raw = link.get()] { raw->Listen(); });
  link->listener_.detach();  // blocked in read until the process ends
  link->flusher_ = std::thread([raw = link.get()] { raw->FlushLoop(); });
  return link;
}

RunnerLink::~RunnerLink() {
  {
    std::lock_guard lock(points_mutex_);
    closing_ = true;
  }
  points_waiting_.notify_one();
  flusher_.join();
  SendPoints();
}

void RunnerLink::Listen() {
  while (true) {
    absl::StatusOr<std::optional<std::string>> frame = ReadFrame(fd_);
    v1::WorkerCommand command;
    if (!frame.ok() || !*frame || !command.ParseFromString(**frame)) break;
    if (command.has_stop()) stop_requested_.store(true, std::memory_order_relaxed);
    if (command.has_recorded()) {
      {
        const std::lock_guard lock(recorded_mutex_);
        recorded_ = command.recorded();
      }
      recorded_changed_.notify_all();
    }
  }
  std::fputs("the runner is gone: leaving\n", stderr);
  _exit(kExitPeerLost);
}

void RunnerLink::FlushLoop() {
  while (true) {
    {
      std::unique_lock lock(points_mutex_);
      points_waiting_.wait(lock, [&] { return has_points_ || closing_; });
      if (closing_) return;
    }
    std::this_thread::sleep_for(kBatchAge);
    SendPoints();
  }
}

void RunnerLink::SendPoints() {
  std::lock_guard send_lock(send_mutex_);
  v1::WorkerEvent event;
  std::vector<TimedHistogram> histograms;
  std::vector<TimedText> texts;
  {
    std::lock_guard lock(points_mutex_);
    if (!has_points_) return;
    histograms.swap(histograms_);
    texts.swap(texts_);
    for (Column& column : columns_) {
      if (column.steps.empty()) continue;
      v1::MetricColumn* out = event.mutable_metrics()->add_columns();
      out->set_series(column.name);
      out->mutable_step()->Add(column.steps.begin(), column.steps.end());
      out->mutable_time()->Add(column.times.begin(), column.times.end());
      out->mutable_value()->Add(column.values.begin(), column.values.end());
      column.steps.clear();
      column.times.clear();
      column.values.clear();
    }
    has_points_ = false;
  }
  for (TimedText& text : texts) {
    v1::Text& out = *event.mutable_metrics()->add_texts();
    out.set_series(std::move(text.report.series));
    out.set_step(text.report.step);
    out.set_time(text.time);
    out.set_text(std::move(text.report.text));
  }
  // A failed write means that the runner is gone; the listener ends the process.
  for (size_t i = 0; i < histograms.size(); ++i) {
    if (i > 0 && i % kHistogramsPerEvent == 0) {
      WriteFrame(fd_, event.SerializeAsString()).IgnoreError();
      event.Clear();
    }
    FillHistogram(histograms[i].report, histograms[i].time, event.mutable_metrics()->add_histograms());
  }
  WriteFrame(fd_, event.SerializeAsString()).IgnoreError();
}

void RunnerLink::SendEvent(const std::string& serialized) {
  SendPoints();
  std::lock_guard lock(send_mutex_);
  WriteFrame(fd_, serialized).IgnoreError();
}

void RunnerLink::AwaitRecorded() {
  v1::WorkerEvent event;
  event.set_sync(++asked_);
  SendEvent(event.SerializeAsString());
  std::unique_lock lock(recorded_mutex_);
  recorded_changed_.wait_for(lock, kRecordPatience, [&] { return recorded_ >= asked_; });
}

void RunnerLink::Phase(const std::string& phase) {
  v1::WorkerEvent event;
  event.mutable_phase()->set_phase(phase);
  SendEvent(event.SerializeAsString());
}

void RunnerLink::Begun(int64_t start_step, int64_t total_steps, const std::map<std::string, std::string>& facts) {
  v1::WorkerEvent event;
  event.mutable_begun()->set_start_step(start_step);
  event.mutable_begun()->set_total_steps(total_steps);
  event.mutable_begun()->mutable_facts()->insert(facts.begin(), facts.end());
  SendEvent(event.SerializeAsString());
}

void RunnerLink::FirstStep(int64_t step) {
  v1::WorkerEvent event;
  event.mutable_first_step()->set_step(step);
  SendEvent(event.SerializeAsString());
}

void RunnerLink::Progress(const ProgressReport& progress) {
  v1::WorkerEvent event;
  FillProgress(progress, event.mutable_progress());
  SendEvent(event.SerializeAsString());
}

void RunnerLink::CheckpointSaved(int64_t step, const std::string& folder, double seconds) {
  v1::WorkerEvent event;
  event.mutable_checkpoint()->set_step(step);
  event.mutable_checkpoint()->set_folder(folder);
  event.mutable_checkpoint()->set_seconds(seconds);
  SendEvent(event.SerializeAsString());
}

void RunnerLink::Notice(const std::string& text) {
  v1::WorkerEvent event;
  event.mutable_notice()->set_text(text);
  SendEvent(event.SerializeAsString());
}

void RunnerLink::Failure(const std::string& message, bool retryable, int64_t step) {
  v1::WorkerEvent event;
  event.mutable_failure()->set_message(message);
  event.mutable_failure()->set_retryable(retryable);
  event.mutable_failure()->set_step(step);
  SendEvent(event.SerializeAsString());
}

void RunnerLink::Finished(bool completed, int64_t step, int64_t saved_step) {
  v1::WorkerEvent event;
  event.mutable_finished()->set_outcome(completed ? v1::WorkerFinished::OUTCOME_COMPLETED
                                                  : v1::WorkerFinished::OUTCOME_STOPPED);
  event.mutable_finished()->set_step(step);
  event.mutable_finished()->set_saved_step(saved_step);
  SendEvent(event.SerializeAsString());
}

int RunnerLink::SeriesIndex(const std::string& name) {
  std::lock_guard lock(points_mutex_);
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].name == name) return static_cast<int>(i);
  }
  columns_.push_back({.name = name});
  return static_cast<int>(columns_.size()) - 1;
}

void RunnerLink::Metric(int series, int64_t step, double value) {
  const double now = UnixNow();
  bool wake = false;
  {
    std::lock_guard lock(points_mutex_);
    Column& column = columns_[series];
    column.steps.push_back(step);
    column.times.push_back(now);
    column.values.push_back(value);
    wake = !has_points_;
    has_points_ = true;
  }
  if (wake) points_waiting_.notify_one();
}

void RunnerLink::Histogram(HistogramReport histogram) {
  const double now = UnixNow();
  bool wake = false;
  {
    std::lock_guard lock(points_mutex_);
    histograms_.push_back({now, std::move(histogram)});
    wake = !has_points_;
    has_points_ = true;
  }
  if (wake) points_waiting_.notify_one();
}

void RunnerLink::Text(TextReport text) {
  const double now = UnixNow();
  bool wake = false;
  {
    std::lock_guard lock(points_mutex_);
    texts_.push_back({now, std::move(text)});
    wake = !has_points_;
    has_points_ = true;
  }
  if (wake) points_waiting_.notify_one();
}

}  // namespace ddp
