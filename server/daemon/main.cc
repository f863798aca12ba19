// ddpd.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/files.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "server/api/server.h"
#include "server/daemon/exposition.h"
#include "server/daemon/home.h"
#include "server/gateway/gateway.h"
#include "server/jobs/spec_checker.h"
#include "server/metrics/retention.h"
#include "server/metrics/stream_pace.h"
#include "server/scheduler/slots.h"
#include "server/store/convert.h"
#include "server/supervisor/open_files.h"

namespace ddp {
namespace {

constexpr int kApiThreads = 16;
constexpr char kNoWeb[] = "none";
constexpr size_t kLargestPem = size_t{1} << 20;

struct Flags {
  std::string home = DefaultHome();
  std::string listen = "127.0.0.1:0";
  std::string web = "127.0.0.1:0";
  std::vector<std::string> web_hosts;
  std::string tls_cert;
  std::string tls_key;
  double web_idle_timeout = 60;
  double web_transfer_timeout = 30;
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

// Unset: neither flag was given.
absl::StatusOr<std::optional<TlsPair>> ReadTlsPair(const Flags& flags) {
  if (flags.tls_cert.empty() && flags.tls_key.empty()) return std::optional<TlsPair>();
  if (flags.tls_cert.empty() || flags.tls_key.empty()) {
    return absl::InvalidArgumentError("--tls-cert and --tls-key must be given together");
  }
  TlsPair pair;
  DDP_ASSIGN_OR_RETURN(pair.certificate_pem, ReadFile(flags.tls_cert, kLargestPem));
  DDP_ASSIGN_OR_RETURN(pair.key_pem, ReadFile(flags.tls_key, kLargestPem));
  return std::optional<TlsPair>(std::move(pair));
}

Gateway::Options GatewayOptions(const Flags& flags, const std::string& token, const std::optional<TlsPair>& tls,
                                const OpenFileLimit& open_files) {
  const auto milliseconds = [](double seconds) { return std::chrono::milliseconds(std::llround(seconds * 1000)); };
  return {.listen = flags.web,
          .hosts = flags.web_hosts,
          .token = token,
          .tls = tls,
          .limits = {.idle = milliseconds(flags.web_idle_timeout),
                     .transfer = milliseconds(flags.web_transfer_timeout),
                     .connections = WebConnectionsFor(open_files.now)}};
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
  const absl::StatusOr<OpenFileLimit> open_files = RaiseOpenFileLimit();
  if (!open_files.ok()) return open_files.status();
  absl::StatusOr<Home> home = Home::Open(flags.home);
  if (!home.ok()) return home.status();
  absl::StatusOr<std::unique_ptr<Store>> store = Store::Open(flags.home + "/ddpd.db");
  if (!store.ok()) return store.status();
  const SlotInventory inventory = DetectSlots(flags.cpu_slots);
  StreamPace pace;
  MetricHub hub((*store)->reader(), MetricHub::kDefaultQueueLimit,
                [&pace](size_t subscribers) { return pace.Interval(subscribers); });
  ProcessLauncher launcher(flags.runner_binary, open_files->before);
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
  v1::SystemInfo info = Describe(flags);
  const absl::StatusOr<std::optional<TlsPair>> tls = ReadTlsPair(flags);
  if (!tls.ok()) return tls.status();
  std::unique_ptr<Gateway> gateway;
  if (flags.web != kNoWeb) {
    absl::StatusOr<std::unique_ptr<Gateway>> listening =
        Gateway::Listen(GatewayOptions(flags, home->token(), *tls, *open_files));
    if (!listening.ok()) return listening.status();
    gateway = *std::move(listening);
    info.set_web_address(gateway->url());
  }
  Executor executor(kApiThreads);
  ApiContext api{**manager, hub, (*store)->reader(), executor, home->token(), flags.home, flags.worker_binary};
  absl::StatusOr<std::unique_ptr<ApiServer>> server = ApiServer::Start(api, info, flags.listen, *tls);
  if (!server.ok()) return server.status();
  if (gateway != nullptr) {
    gateway->Serve({.channel = (*server)->InProcessChannel(),
                    .metrics = [&manager = **manager, info] { return Exposition(manager, info); },
                    .run_blocking = [&executor](std::function<void()> task) { executor.Post(std::move(task)); }});
  }
  (*manager)->StartBackgroundThread();
  std::optional<MetricRetention> retention;
  if (flags.metrics_keep_days > 0) {
    retention.emplace(**store, Clock::System(), flags.metrics_keep_days).StartThread();
  }
  if (absl::Status status = home->PublishAddress((*server)->local_address(), info.web_address()); !status.ok())
    return status;
  LogInfo(absl::StrCat("ddpd ", DDP_VERSION, " listens on ", (*server)->address(), ", dashboard ",
                       gateway != nullptr ? gateway->url() : "off", ", home ", flags.home, ", ", inventory.slots.size(),
                       inventory.has_gpus ? " GPU" : " CPU", " slots, ", open_files->now, " open files allowed (",
                       open_files->before.rlim_cur, " to its jobs)"));
  int signal = 0;
  do {
    sigwait(&signals, &signal);
  } while (signal == SIGHUP);  // a closed terminal is no reason to stop
  LogInfo(absl::StrCat("ddpd stops (signal ", signal, "); running jobs go on and are found again by the next ddpd"));
  home->RemoveAddress();
  gateway.reset();  // its calls go to the server
  server->reset();
  return absl::OkStatus();
}

}  // namespace
}  // namespace ddp

int main(int argc, char** argv) {
  ddp::Flags flags;
  CLI::App app("ddpd: the daemon that queues and runs training jobs. Steer it with ddpctl.");
  app.add_option("--home", flags.home, "Folder of its state (jobs, token, database)")->capture_default_str();
  app.add_option("--listen", flags.listen, "HOST:PORT, on loopback unless there is TLS; port 0: any free one")
      ->capture_default_str();
  app.add_option("--web", flags.web, "HOST:PORT of the dashboard, gRPC-Web and /metrics, as --listen; none: off")
      ->capture_default_str();
  app.add_option(
      "--web-host", flags.web_hosts,
      "NAME or NAME:PORT by which browsers may reach --web besides 127.0.0.1 and localhost; may be repeated");
  app.add_option("--tls-cert", flags.tls_cert,
                 "PEM file of a certificate with its chain: --listen and --web are encrypted, and may be any address");
  app.add_option("--tls-key", flags.tls_key, "PEM file of the certificate's private key");
  app.add_option("--web-idle-timeout", flags.web_idle_timeout, "Seconds until a connection without a request is closed")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  app.add_option("--web-transfer-timeout", flags.web_transfer_timeout,
                 "Seconds until a connection on which a request or an answer does not move is closed")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
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
