#include "client/end_signals.h"

#include <atomic>
#include <csignal>

#include "client/resize.h"

namespace ddp {

namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

std::atomic<int> arrived_signal = 0;
std::atomic<int> wake_fd = -1;

void OnEnd(int signal) {
  arrived_signal = signal;
  Wake(wake_fd);
}

}  // namespace

EndSignals::EndSignals(int event_fd) {
  arrived_signal = 0;
  wake_fd = event_fd;
  struct sigaction action {};
  action.sa_handler = OnEnd;
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

EndSignals::~EndSignals() {
  for (const int signal : kSignals) std::signal(signal, SIG_DFL);
}

int EndSignals::arrived() const { return arrived_signal; }

}  // namespace ddp
