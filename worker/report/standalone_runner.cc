#include "worker/report/standalone_runner.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/exit_codes.h"
#include "common/framing.h"
#include "common/status_macros.h"
#include "ddp/v1/worker.pb.h"
#include "worker/report/standalone_lines.h"

namespace ddp {

namespace {

// What the signal handler writes, and where to; set before it is installed.
int g_stop_fd = -1;
char g_stop_frame[32];
size_t g_stop_size = 0;

void EndOnSignals() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

// A few bytes into a socket that is nearly silent in this direction: never cut, never blocked.
void AskForStop(int) {
  EndOnSignals();
  const int error = errno;
  constexpr char kText[] = "\nstops after this step and saves; once more: ends at once\n";
  // Nothing could be done about a failure here.
  if (write(g_stop_fd, g_stop_frame, g_stop_size) < 0 || write(STDERR_FILENO, kText, sizeof(kText) - 1) < 0) {
  }
  errno = error;
}

void ListenForSignals(int fd) {
  v1::WorkerCommand command;
  command.mutable_stop()->set_save(true);
  const std::string frame = EncodeFrame(command.SerializeAsString());
  g_stop_fd = fd;
  g_stop_size = std::min(frame.size(), sizeof(g_stop_frame));
  std::copy_n(frame.begin(), g_stop_size, g_stop_frame);
  struct sigaction action {};
  action.sa_handler = AskForStop;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) sigaddset(&action.sa_mask, signal);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

absl::StatusOr<UniqueFd> OpenMetrics(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  struct stat status {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0) return ErrnoStatus(errno, absl::StrCat("cannot open ", path));
  if (status.st_size == 0) DDP_RETURN_IF_ERROR(WriteAll(fd.get(), "series,step,time,value\n"));
  return fd;
}

}  // namespace

absl::StatusOr<std::unique_ptr<StandaloneRunner>> StandaloneRunner::Start(StandalonePlan plan) {
  std::unique_ptr<StandaloneRunner> runner(new StandaloneRunner);
  runner->plan_ = std::move(plan);
  DDP_ASSIGN_OR_RETURN(runner->metrics_, OpenMetrics(runner->plan_.folder + "/metrics.csv"));
  DDP_ASSIGN_OR_RETURN(runner->store_, BindStore());
  DDP_ASSIGN_OR_RETURN(runner->memory_, MakeSharedMemory(/*world_size=*/1));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoStatus(errno, "cannot make a socket pair");
  }
  runner->runner_end_ = UniqueFd(ends[0]);
  runner->worker_end_ = UniqueFd(ends[1]);
  runner->thread_ = std::thread([raw = runner.get()] { raw->Run(); });
  return runner;
}

void StandaloneRunner::Run() {
  v1::WorkerCommand command;
  v1::WorkerStart& start = *command.mutable_start();
  start.mutable_launch()->ParseFromString(plan_.launch);
  start.set_world_size(1);
  start.set_store_port(store_.port);
  start.set_store_fd(store_.fd.release());  // the store closes it
  start.set_shm_fd(memory_.get());
  WriteFrame(runner_end_.get(), command.SerializeAsString()).IgnoreError();
  ListenForSignals(runner_end_.get());
  StandaloneLines lines;
  while (true) {
    const absl::StatusOr<std::optional<std::string>> frame = ReadFrame(runner_end_.get());
    v1::WorkerEvent event;
    if (!frame.ok() || !*frame || !event.ParseFromString(**frame)) return;
    if (event.has_finished() || event.has_failure()) EndOnSignals();  // there is nothing left to stop
    if (event.has_metrics()) SaveMetrics(MetricRows(event.metrics()));
    if (event.has_sync()) {
      v1::WorkerCommand recorded;
      recorded.set_recorded(event.sync());
      WriteFrame(runner_end_.get(), recorded.SerializeAsString()).IgnoreError();
    }
    WriteAll(STDOUT_FILENO, lines.Of(event)).IgnoreError();
  }
}

void StandaloneRunner::SaveMetrics(const std::string& rows) {
  if (!metrics_.valid()) return;
  const absl::Status status = WriteAll(metrics_.get(), rows);
  if (status.ok()) return;
  std::fprintf(stderr, "cannot write %s/metrics.csv: %s; training goes on without it\n", plan_.folder.c_str(),
               std::string(status.message()).c_str());
  metrics_ = UniqueFd();
}

int StandaloneRunner::Finish(int worker_exit_code) {
  // The end of the stream, behind the last event.
  shutdown(worker_end_.get(), SHUT_WR);
  thread_.join();
  // Stays open: the worker's listener, which is still there, takes the end of its socket for the end of its runner.
  runner_end_.release();
  if (worker_exit_code == kExitOk) return 0;
  return worker_exit_code == kExitNoRetry ? 3 : 1;
}

}  // namespace ddp
