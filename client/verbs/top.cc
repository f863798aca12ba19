// ddpctl top.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "client/resize.h"
#include "client/screen.h"
#include "client/terminal.h"
#include "client/top_view.h"
#include "client/verbs/verbs.h"

namespace ddp {

namespace {

constexpr std::chrono::seconds kEvery{1};
constexpr int kNewestEnded = 100;
constexpr v1::JobState kLive[] = {v1::JOB_STATE_QUEUED,     v1::JOB_STATE_STARTING, v1::JOB_STATE_RUNNING,
                                  v1::JOB_STATE_RESTARTING, v1::JOB_STATE_PAUSING,  v1::JOB_STATE_CANCELLING};

struct Snapshot {
  std::vector<v1::Job> jobs;
  v1::SystemInfo info;
};

// All live jobs and the newest ended ones.
Snapshot Look(Connection& connection) {
  std::map<std::string, v1::Job> found;
  v1::ListJobsRequest live;
  live.set_page_size(1000);
  for (const v1::JobState state : kLive) live.add_states(state);
  do {
    const v1::ListJobsResponse page = Call(connection, connection.jobs(), &v1::JobService::Stub::List, live);
    for (const v1::Job& job : page.jobs()) found[job.id()] = job;
    live.set_page_token(page.next_page_token());
  } while (!live.page_token().empty());
  v1::ListJobsRequest newest;
  newest.set_page_size(kNewestEnded);
  const v1::ListJobsResponse page = Call(connection, connection.jobs(), &v1::JobService::Stub::List, newest);
  for (const v1::Job& job : page.jobs()) found[job.id()] = job;
  Snapshot snapshot;
  for (auto& [id, job] : found) snapshot.jobs.push_back(std::move(job));
  snapshot.info = Call(connection, connection.system(), &v1::SystemService::Stub::GetInfo, v1::GetInfoRequest());
  return snapshot;
}

// What came of it, in a line.
std::string Do(const TopAction& action, Connection& connection) {
  v1::Job job;
  if (action.kind == TopAction::kCancel) {
    v1::CancelJobRequest request;
    request.set_id(action.job);
    job = Call(connection, connection.jobs(), &v1::JobService::Stub::Cancel, request);
  } else if (action.kind == TopAction::kPause) {
    v1::PauseJobRequest request;
    request.set_id(action.job);
    job = Call(connection, connection.jobs(), &v1::JobService::Stub::Pause, request);
  } else {
    v1::ResumeJobRequest request;
    request.set_id(action.job);
    job = Call(connection, connection.jobs(), &v1::JobService::Stub::Resume, request);
  }
  return absl::StrCat(job.id(), " ", StateName(job.state()));
}

// Talks with the daemon on a thread of its own, so that a slow one never holds up a key. Wakes `event_fd` when there is
// something new to take.
class Daemon {
 public:
  struct News {
    std::optional<Snapshot> snapshot;
    std::string message;  // of an action
    std::string trouble;  // why there is no snapshot
  };

  Daemon(const Globals& globals, int event_fd) : globals_(globals), event_fd_(event_fd), thread_([this] { Run(); }) {}
  ~Daemon() {
    {
      std::lock_guard lock(mutex_);
      leaving_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void Ask(const TopAction& action) {
    {
      std::lock_guard lock(mutex_);
      asked_.push_back(action);
    }
    changed_.notify_all();
  }
  News Take() {
    std::lock_guard lock(mutex_);
    return std::exchange(news_, {});
  }

 private:
  void Run() {
    std::unique_ptr<Connection> connection;
    for (;;) {
      News news;
      TopAction action;
      {
        std::lock_guard lock(mutex_);
        if (leaving_) return;
        if (!asked_.empty()) {
          action = asked_.front();
          asked_.pop_front();
        }
      }
      try {
        if (connection == nullptr) connection = Connection::Find(globals_.connection);
        if (connection == nullptr) {
          news.trouble = "no daemon answers; looking for it ...";
        } else {
          if (action.kind != TopAction::kNone) news.message = Try(action, *connection);
          news.snapshot = Look(*connection);
        }
      } catch (const ExitError& e) {
        news.trouble = e.what();
        connection.reset();  // a daemon that has been restarted listens elsewhere
      }
      std::unique_lock lock(mutex_);
      if (!news.message.empty()) news_.message = news.message;
      if (news.snapshot) news_.snapshot = std::move(news.snapshot);
      news_.trouble = news.trouble;
      Wake(event_fd_);
      if (asked_.empty()) {
        changed_.wait_for(lock, kEvery,
                          [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return leaving_ || !asked_.empty(); });
      }
    }
  }
  // A refusal is told; anything else is thrown.
  static std::string Try(const TopAction& action, Connection& connection) {
    try {
      return Do(action, connection);
    } catch (const ExitError& e) {
      if (e.code == kNoDaemon) throw;
      return e.what();
    }
  }

  const Globals& globals_;
  const int event_fd_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<TopAction> asked_ ABSL_GUARDED_BY(mutex_);
  News news_ ABSL_GUARDED_BY(mutex_);
  bool leaving_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // the last member: it uses the others
};

std::atomic<int> ending_signal = 0;
std::atomic<int> ending_fd = -1;

void OnEnd(int signal) {
  ending_signal = signal;
  Wake(ending_fd);
}

// The signals that end a program first give the terminal back.
class EndSignals {
 public:
  explicit EndSignals(int event_fd) {
    ending_fd = event_fd;
    struct sigaction action {};
    action.sa_handler = OnEnd;
    for (const int signal : kSignals) sigaction(signal, &action, nullptr);
  }
  ~EndSignals() {
    for (const int signal : kSignals) std::signal(signal, SIG_DFL);
  }

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
};

class Top {
 public:
  explicit Top(const Globals& globals)
      : globals_(globals), events_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), view_(LocaleGlyphs()) {}

  void Run() {
    const ResizeSignal resize(events_.get());
    std::optional<EndSignals> signals(std::in_place, events_.get());
    Daemon daemon(globals_, events_.get());
    view_.SetTrouble("asking the daemon ...");
    screen_.Enter();
    for (;;) {
      screen_.Draw(view_.Frame(screen_.width(), screen_.height(), absl::Now(), /*marks=*/true));
      pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {events_.get(), POLLIN, 0}};
      poll(fds, 2, -1);
      if (ending_signal != 0) {
        const int signal = ending_signal;
        screen_.Leave();
        signals.reset();
        if (signal == SIGINT) throw ExitError(kDetached, "left; the jobs go on");
        raise(signal);
      }
      if (fds[1].revents != 0) {
        Drain(events_.get());
        screen_.Measure();
        Take(daemon.Take());
      }
      if (fds[0].revents == 0) continue;
      char buffer[256];
      const ssize_t n = read(STDIN_FILENO, buffer, sizeof(buffer));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;  // the terminal has gone
      for (const Key key : keys_.Feed({buffer, static_cast<size_t>(n)})) {
        const TopAction action = view_.Press(key);
        switch (action.kind) {
          case TopAction::kNone:
            break;
          case TopAction::kQuit:
            return;
          case TopAction::kInterrupt:
            screen_.Leave();
            throw ExitError(kDetached, "left; the jobs go on");
          case TopAction::kSuspend:
            screen_.Leave();
            raise(SIGTSTP);  // comes back when the shell goes on with us
            screen_.Enter();
            break;
          case TopAction::kWatch:
            signals.reset();
            Watch(action.job);
            signals.emplace(events_.get());
            break;
          default:
            daemon.Ask(action);
        }
      }
    }
  }

 private:
  void Take(Daemon::News news) {
    view_.SetTrouble(news.trouble);
    if (!news.message.empty()) view_.Tell(news.message);
    if (news.snapshot) {
      view_.Update(std::move(news.snapshot->jobs), std::move(news.snapshot->info));
    } else if (news.trouble.empty() && !seen_) {
      view_.SetTrouble("asking the daemon ...");
    }
    seen_ |= news.snapshot.has_value();
  }
  void Watch(const std::string& job) {
    screen_.Leave();
    try {
      Connection connection = Connection::Open(globals_.connection);
      WatchToEnd(globals_, connection, job, {});
      Say("Enter: back to all jobs\n");
      char byte = 0;
      while (read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n') {
      }
    } catch (const ExitError& e) {
      if (e.code != kDetached) view_.Tell(e.what());  // Ctrl-C: back to all jobs
    }
    screen_.Enter();
  }

  const Globals& globals_;
  const UniqueFd events_;
  TopView view_;
  KeyReader keys_;
  Screen screen_{STDIN_FILENO, STDOUT_FILENO};
  bool seen_ = false;
};

void Once(const Globals& globals) {
  Connection connection = Connection::Open(globals.connection);
  Snapshot snapshot = Look(connection);
  TopView view(LocaleGlyphs());
  const int rows = static_cast<int>(snapshot.jobs.size()) + 4;
  view.Update(std::move(snapshot.jobs), std::move(snapshot.info));
  const int width = TerminalColumns(STDOUT_FILENO).value_or(120);
  PrintDrawing(absl::StrJoin(view.Frame(width, rows, absl::Now(), /*marks=*/false), "\n") + "\n");
}

void RunTop(bool once, const Globals& globals) {
  if (!globals.is_text()) throw ExitError(kUsage, "top draws; for programs there is: ddpctl list -o json");
  if (once) {
    Once(globals);
    return;
  }
  if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) {
    throw ExitError(kUsage, "top needs a terminal; --once prints one frame");
  }
  Top(globals).Run();
}

}  // namespace

void AddTop(CLI::App& app, Globals& globals) {
  CLI::App& verb = *app.add_subcommand("top", "All jobs and slots, live, with keys to watch, cancel, pause and resume");
  auto once = std::make_shared<bool>(false);
  verb.add_flag("--once", *once, "Print them once, for pipes");
  verb.callback([once, &globals] { RunTop(*once, globals); });
}

}  // namespace ddp
