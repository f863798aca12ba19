#include "client/verbs/top_screen.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <csignal>

#include "absl/time/clock.h"
#include "client/resize.h"

namespace ddp {

namespace {
// Ages on the screen grow though nothing happens.
constexpr int kTickMs = 1000;
}  // namespace

TopScreen::TopScreen(const Globals& globals)
    : globals_(globals),
      events_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      view_(LocaleGlyphs()),
      screen_(STDIN_FILENO, STDOUT_FILENO) {}

void TopScreen::Run() {
  const ResizeSignal resize(events_.get());
  signals_.emplace(events_.get());
  TopFeed feed(globals_.connection, events_.get());
  screen_.Enter();
  for (Next next = Next::kGoOn; next == Next::kGoOn;) {
    screen_.Draw(view_.Frame(screen_.width(), screen_.height(), absl::Now(), /*marks=*/true));
    pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {events_.get(), POLLIN, 0}};
    poll(fds, 2, kTickMs);
    if (signals_->arrived() != 0) EndBy(signals_->arrived());
    if (fds[1].revents != 0) {
      Drain(events_.get());
      screen_.Measure();
      Take(feed.Take());
    }
    if (fds[0].revents != 0) next = ReadKeys(feed);
  }
  // Now, not after a last call of the feed.
  screen_.Leave();
}

void TopScreen::Take(TopFeed::News news) {
  if (news.snapshot) view_.Update(std::move(news.snapshot->jobs), std::move(news.snapshot->info));
  view_.SetTrouble(news.trouble, news.told);
  if (!news.message.empty()) view_.Tell(news.message);
}

TopScreen::Next TopScreen::ReadKeys(TopFeed& feed) {
  char buffer[256];
  const ssize_t n = read(STDIN_FILENO, buffer, sizeof(buffer));
  if (n < 0 && errno == EINTR) return Next::kGoOn;
  if (n <= 0) return Next::kLeave;  // the terminal has gone
  for (const Key key : keys_.Feed({buffer, static_cast<size_t>(n)})) {
    if (Do(view_.Press(key), feed) == Next::kLeave) return Next::kLeave;
  }
  return Next::kGoOn;
}

TopScreen::Next TopScreen::Do(const TopAction& action, TopFeed& feed) {
  switch (action.kind) {
    case TopAction::kNone:
      break;
    case TopAction::kQuit:
      return Next::kLeave;
    case TopAction::kInterrupt:
      EndBy(SIGINT);
      break;
    case TopAction::kSuspend:
      screen_.Leave();
      raise(SIGTSTP);  // comes back when the shell goes on with us
      screen_.Enter();
      break;
    case TopAction::kWatch:
      signals_.reset();
      Watch(action.job);
      signals_.emplace(events_.get());
      break;
    default:
      feed.Ask(action);
  }
  return Next::kGoOn;
}

void TopScreen::Watch(const std::string& job) {
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

void TopScreen::EndBy(int signal) {
  screen_.Leave();
  signals_.reset();
  if (signal == SIGINT) throw ExitError(kDetached, "left; the jobs go on");
  raise(signal);
}

}  // namespace ddp
