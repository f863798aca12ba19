// ddpd.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/files.h"
#include "common/logging.h"
#include "server/api/server.h"
#include "server/daemon/home.h"
#include "server/jobs/spec_checker.h"
#include "server/metrics/retention.h"
#include "server/scheduler/slots.h"
#include "server/store/convert.h"

namespace ddp {
namespace {

constexpr int kApiThreads = 16;

struct Flags {
  std::string home = DefaultHome();
  std::string listen = "127.0.0.1:0";
  int cpu_slots = 0;
  std::string worker_binary = ExecutableFolder() + "/ddp-worker";
  std::string runner_binary = ExecutableFolder() + "/ddp-runner";
  std::string log_level = "info";
  double stop_grace = 30;
  int metrics_keep_days = 0;
};

LogLevel LevelOf(const std::string& name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warning") return LogLevel::kWarning;
  return name == "error" ? LogLevel::kError : LogLevel::kInfo;
}

// Signals arrive by sigwait in the main thread; every other thread inherits the mask.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

v1::SystemInfo Describe(const Flags& flags) {
  v1::SystemInfo info;
  info.set_version(DDP_VERSION);
  info.set_pid(getpid());
  info.set_home(flags.home);
  *info.mutable_start_time() = ToTimestamp(Clock::System().Now());
  char name[HOST_NAME_MAX + 1] = "";
  if (gethostname(name, sizeof(name) - 1) == 0) info.set_hostname(name);
  return info;
}

absl::Status CheckBinaries(const Flags& flags) {
  for (const std::string& path : {flags.worker_binary, flags.runner_binary}) {
    if (access(path.c_str(), X_OK) != 0) {
      return absl::NotFoundError(absl::StrCat(path, " is missing or cannot be executed; it is built beside ddpd"));
    }
  }
  return absl::OkStatus();
}

absl::Status Serve(const Flags& flags) {
  const sigset_t signals = BlockSignals();
  if (absl::Status status = CheckBinaries(flags); !status.ok()) return status;
  absl::StatusOr<Home> home = Home::Open(flags.home);
  if (!home.ok()) return home.status();
  absl::StatusOr<std::unique_ptr<Store>> store = Store::Open(flags.home + "/ddpd.db");
  if (!store.ok()) return store.status();
  const SlotInventory inventory = DetectSlots(flags.cpu_slots);
  MetricHub hub((*store)->reader());
  ProcessLauncher launcher(flags.runner_binary);
  WorkerSpecChecker checker(flags.worker_binary);
  JobManager::Options options{.home = flags.home,
                              .machine = {.slots = static_cast<int>(inventory.slots.size()),
                                          .has_gpus = inventory.has_gpus,
                                          .no_gpu_reason = inventory.no_gpu_reason},
                              .slots = inventory.slots,
                              .cores = inventory.cores,
                              .worker_binary = flags.worker_binary,
                              .cuda_worker_binary = flags.worker_binary + "-cuda",
                              .stop_grace_seconds = flags.stop_grace};
  absl::StatusOr<std::unique_ptr<JobManager>> manager =
      JobManager::Open(std::move(options), {**store, hub, launcher, checker, Clock::System()});
  if (!manager.ok()) return manager.status();
  Executor executor(kApiThreads);
  ApiContext api{**manager, hub, (*store)->reader(), executor, home->token(), flags.home, flags.worker_binary};
  absl::StatusOr<std::unique_ptr<ApiServer>> server = ApiServer::Start(api, Describe(flags), flags.listen);
  if (!server.ok()) return server.status();
  (*manager)->StartBackgroundThread();
  std::optional<MetricRetention> retention;
  if (flags.metrics_keep_days > 0) {
    retention.emplace(**store, Clock::System(), flags.metrics_keep_days).StartThread();
  }
  if (absl::Status status = home->PublishAddress((*server)->address()); !status.ok()) return status;
  LogInfo(absl::StrCat("ddpd ", DDP_VERSION, " listens on ", (*server)->address(), ", home ", flags.home, ", ",
                       inventory.slots.size(), inventory.has_gpus ? " GPU" : " CPU", " slots"));
  int signal = 0;
  do {
    sigwait(&signals, &signal);
  } while (signal == SIGHUP);  // a closed terminal is no reason to stop
  LogInfo(absl::StrCat("ddpd stops (signal ", signal, "); running jobs go on and are found again by the next ddpd"));
  home->RemoveAddress();
  server->reset();
  return absl::OkStatus();
}

}  // namespace
}  // namespace ddp

int main(int argc, char** argv) {
  ddp::Flags flags;
  CLI::App app("ddpd: the daemon that queues and runs training jobs. Steer it with ddpctl.");
  app.add_option("--home", flags.home, "Folder of its state (jobs, token, database)")->capture_default_str();
  app.add_option("--listen", flags.listen, "HOST:PORT on loopback; port 0: any free one")->capture_default_str();
  app.add_option("--cpu-slots", flags.cpu_slots, "Number of CPU slots, instead of GPUs or one per core")
      ->check(CLI::Range(1, 4096));
  app.add_option("--worker-binary", flags.worker_binary, "ddp-worker; the CUDA one stands beside it")
      ->capture_default_str();
  app.add_option("--runner-binary", flags.runner_binary, "ddp-runner")->capture_default_str();
  app.add_option("--stop-grace", flags.stop_grace, "Seconds from a stop request to SIGTERM, and again to SIGKILL")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--metrics-keep-days", flags.metrics_keep_days,
                 "Days after its end that a job keeps every point; then long series are thinned out. 0: for ever")
      ->check(CLI::Range(0, 36500))
      ->capture_default_str();
  app.add_option("--log-level", flags.log_level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  app.set_version_flag("--version", "ddpd " DDP_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  ddp::InitLogging(ddp::LevelOf(flags.log_level));
  // Runners and workers get absolute paths.
  flags.home = std::filesystem::absolute(flags.home).lexically_normal();
  flags.worker_binary = std::filesystem::absolute(flags.worker_binary);
  flags.runner_binary = std::filesystem::absolute(flags.runner_binary);
  const absl::Status status = ddp::Serve(flags);
  if (!status.ok()) {
    ddp::LogError(std::string(status.message()));
    return 1;
  }
  return 0;
}
