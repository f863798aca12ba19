#include "worker/report/played_runner.h"

#include <sys/socket.h>

#include <optional>
#include <stdexcept>

#include "common/framing.h"
#include "ddp/v1/worker.pb.h"

namespace ddp {

namespace {

void Require(const absl::Status& status) {
  if (!status.ok()) throw std::runtime_error(std::string(status.message()));
}

}  // namespace

std::string LeastStart() {
  v1::WorkerCommand command;
  v1::Launch& launch = *command.mutable_start()->mutable_launch();
  launch.set_format_version(1);
  v1::Training& training = *launch.mutable_spec()->mutable_training();
  training.set_objective(v1::OBJECTIVE_MLM);
  training.set_epochs(1);
  training.set_batch_size(1);
  training.set_lr(1);
  training.set_step_size(1);
  training.set_keep(1);
  return command.SerializeAsString();
}

PlayedRunner::PlayedRunner() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("no socket pair");
  fd_ = ends[0];
  Require(WriteFrame(fd_, LeastStart()));  // tests bring a config of their own
  WorkerConfig config;
  absl::StatusOr<std::unique_ptr<RunnerLink>> link = RunnerLink::Open(ends[1], &config);
  Require(link.status());
  // The link's listener stays in its read until the process ends, so the link must outlive this.
  link_ = *std::move(link);
  thread_ = std::thread(&PlayedRunner::Listen, this);
}

PlayedRunner::~PlayedRunner() {
  if (thread_.joinable()) Finish();
  static_cast<void>(link_.release());
}

void PlayedRunner::AskForStop() {
  v1::WorkerCommand command;
  command.mutable_stop()->set_save(true);
  Require(WriteFrame(fd_, command.SerializeAsString()));
  while (!link_->stop_requested()) std::this_thread::yield();
}

PlayedRunner::Points PlayedRunner::Finish() {
  link_->Finished(true, 0, -1);
  thread_.join();
  return points_;
}

void PlayedRunner::Listen() {
  for (;;) {
    const absl::StatusOr<std::optional<std::string>> frame = ReadFrame(fd_);
    v1::WorkerEvent event;
    if (!frame.ok() || !*frame || !event.ParseFromString(**frame) || event.has_finished()) return;
    if (event.has_sync()) {
      v1::WorkerCommand command;
      command.set_recorded(event.sync());
      Require(WriteFrame(fd_, command.SerializeAsString()));
    }
    for (const v1::MetricColumn& column : event.metrics().columns()) {
      for (int i = 0; i < column.value_size(); ++i)
        points_[column.series()].emplace_back(column.step(i), column.value(i));
    }
  }
}

}  // namespace ddp
