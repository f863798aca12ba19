// Plays a worker; with --check, finds no fault in any spec. The script is the model option "rank-K" (or "all") of the
// job: words that are done one after the other.
//   begin            reports the start of training        step N     reports the metrics of step N, and the first step
//   save N           reports a checkpoint of 0.25 s       finish     reports the end and exits 0 (stopped: says so)
//   exit N           exits with N                         kill       SIGKILL to itself
//   fail TEXT        reports a retryable failure          crash-after-finish   reports the end and dies by SIGSEGV
//   wait-stop        waits for a stop request             hang       waits for ever, deaf to SIGTERM
//   notice TEXT      reports a notice                     print TEXT prints a line to standard error
//   fork             leaves a grandchild in a session of its own
//   tell             from now on reports the progress of each step, too
//   say-finished     reports the end and goes on with the script
//   progress N       reports progress: step N of 100, loss 1/N
//   hist N           reports histograms of step N: grad/w (counts 1 to 64 from -1 to 1) and param/b (all of 3 values
//   are N) sleep MS         train MS  one step each 10 ms until a stop, or MS milliseconds have passed
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

#include "common/framing.h"
#include "ddp/v1/worker.pb.h"

namespace {

using ddp::v1::WorkerEvent;

constexpr int kFd = 3;
constexpr int64_t kSteps = 100;

void Send(const WorkerEvent& event) {
  if (!ddp::WriteFrame(kFd, event.SerializeAsString()).ok()) _exit(76);
}

bool StopArrived(int timeout_ms) {
  pollfd fd{kFd, POLLIN, 0};
  if (poll(&fd, 1, timeout_ms) <= 0) return false;
  const auto frame = ddp::ReadFrame(kFd);
  if (!frame.ok() || !*frame) _exit(76);
  return true;
}

void SendStep(int64_t step, double value) {
  WorkerEvent event;
  ddp::v1::MetricColumn& column = *event.mutable_metrics()->add_columns();
  column.set_series("loss");
  column.add_step(step);
  column.add_time(static_cast<double>(step));
  column.add_value(value);
  Send(event);
}

struct Player {
  int rank;
  bool stopped = false;
  bool first = true;
  bool tells = false;
  int64_t step = 0;
  int64_t saved = -1;

  void Step(int64_t n) {
    step = n;
    if (rank != 0) return;
    SendStep(n, 1.0 / static_cast<double>(n));
    if (tells) Progress(n);
    if (!first) return;
    first = false;
    WorkerEvent event;
    event.mutable_first_step()->set_step(n);
    Send(event);
  }
  void Progress(int64_t n) {
    if (rank != 0) return;
    WorkerEvent event;
    ddp::v1::Progress& progress = *event.mutable_progress();
    progress.set_step(n);
    progress.set_total_steps(kSteps);
    progress.set_epochs(9);
    progress.set_loss(1.0 / static_cast<double>(n));
    progress.set_lr(0.001);
    Send(event);
  }
  void Histograms(int64_t n) {
    if (rank != 0) return;
    WorkerEvent event;
    ddp::v1::Histogram& spread = *event.mutable_metrics()->add_histograms();
    spread.set_series("grad/w");
    spread.set_step(n);
    spread.set_time(static_cast<double>(n));
    spread.set_min(-1);
    spread.set_max(1);
    for (int64_t i = 1; i <= 64; ++i) spread.add_counts(i);
    spread.set_non_finite(5);
    ddp::v1::Histogram& equal = *event.mutable_metrics()->add_histograms();
    equal.set_series("param/b");
    equal.set_step(n);
    equal.set_min(static_cast<double>(n));
    equal.set_max(static_cast<double>(n));
    for (int64_t i = 0; i < 63; ++i) equal.add_counts(0);
    equal.add_counts(3);
    Send(event);
  }
  void Save(int64_t n) {
    saved = n;
    if (rank != 0) return;
    WorkerEvent event;
    event.mutable_checkpoint()->set_step(n);
    event.mutable_checkpoint()->set_folder("step-" + std::to_string(n));
    event.mutable_checkpoint()->set_seconds(0.25);
    Send(event);
  }
  void Finished() {
    WorkerEvent event;
    event.mutable_finished()->set_outcome(stopped ? ddp::v1::WorkerFinished::OUTCOME_STOPPED
                                                  : ddp::v1::WorkerFinished::OUTCOME_COMPLETED);
    event.mutable_finished()->set_step(step);
    event.mutable_finished()->set_saved_step(saved);
    Send(event);
  }
  void Play(const std::string& word, std::istream& rest) {
    int64_t n = 0;
    WorkerEvent event;
    if (word == "begin") {
      if (rank == 0) {
        event.mutable_begun()->set_total_steps(kSteps);
        Send(event);
      }
    } else if (word == "step") {
      rest >> n;
      Step(n);
    } else if (word == "progress") {
      rest >> n;
      Progress(n);
    } else if (word == "tell") {
      tells = true;
    } else if (word == "hist") {
      rest >> n;
      Histograms(n);
    } else if (word == "save") {
      rest >> n;
      Save(n);
    } else if (word == "finish") {
      Finished();
      _exit(0);
    } else if (word == "say-finished") {
      Finished();
    } else if (word == "crash-after-finish") {
      Finished();
      raise(SIGSEGV);
    } else if (word == "exit") {
      rest >> n;
      _exit(static_cast<int>(n));
    } else if (word == "kill") {
      raise(SIGKILL);
    } else if (word == "fail") {
      std::string text;
      rest >> text;
      event.mutable_failure()->set_message(text);
      event.mutable_failure()->set_retryable(true);
      Send(event);
    } else if (word == "notice") {
      rest >> *event.mutable_notice()->mutable_text();
      Send(event);
    } else if (word == "print") {
      std::string text;
      rest >> text;
      std::cerr << text << "\n";
    } else if (word == "wait-stop") {
      while (!StopArrived(1000)) {
      }
      stopped = true;
    } else if (word == "hang") {
      std::signal(SIGTERM, SIG_IGN);
      for (;;) pause();
    } else if (word == "fork") {
      if (fork() == 0) {
        setsid();
        for (;;) pause();
      }
    } else if (word == "sleep") {
      rest >> n;
      std::this_thread::sleep_for(std::chrono::milliseconds(n));
    } else if (word == "train") {
      rest >> n;
      for (int64_t i = 0; i < n / 10 && !stopped; ++i) {
        stopped = StopArrived(10);
        Step(step + 1);
      }
      if (stopped) Save(step);
    } else {
      std::cerr << "unknown word in the script: " << word << "\n";
      _exit(2);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  // Nothing is wrong with any spec: an empty CheckResult.
  if (argc == 2 && std::string_view(argv[1]) == "--check") return 0;
  const auto frame = ddp::ReadFrame(kFd);
  ddp::v1::WorkerCommand command;
  if (!frame.ok() || !*frame || !command.ParseFromString(**frame)) return 2;
  const ddp::v1::WorkerStart& start = command.start();
  const auto& options = start.launch().spec().training().model().options();
  const auto own = options.find("rank-" + std::to_string(start.rank()));
  const auto all = options.find("all");
  std::cerr << "rank " << start.rank() << " plays\n";
  std::istringstream script(own != options.end() ? own->second : all != options.end() ? all->second : "finish");
  Player player{.rank = start.rank()};
  std::string word;
  while (script >> word) player.Play(word, script);
  return 0;
}
