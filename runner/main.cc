// ddp-runner.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <string>

#include "common/logging.h"
#include "runner/attempt.h"
#include "runner/system_probe.h"

namespace {

ddp::Attempt* running = nullptr;

void OnSignal(int) {
  const int interrupted = errno;
  running->RequestStop(/*force=*/false);
  errno = interrupted;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("ddp-runner runs one attempt of a job. It is started by ddpd, not by hand.");
  std::string attempt_dir;
  int lock_fd = -1;
  app.add_option("--attempt-dir", attempt_dir, "Folder with launch.pb")->required();
  app.add_option("--lock-fd", lock_fd, "Descriptor of the attempt's lock, held while a process of it lives")
      ->required();
  app.set_version_flag("--version", "ddp-runner " DDP_VERSION);
  CLI11_PARSE(app, argc, argv);
  ddp::InitLogging(ddp::LogLevel::kInfo);

  const std::string path = attempt_dir + "/" + ddp::kLaunchName;
  const absl::StatusOr<std::string> text = ddp::ReadFile(path);
  ddp::v1::Launch launch;
  if (!text.ok() || !launch.ParseFromString(*text) || launch.format_version() != 1) {
    ddp::LogError(text.ok() ? path + ": not a launch record of this version" : std::string(text.status().message()));
    return 1;
  }
  ddp::MachineProbe probe({launch.gpus().begin(), launch.gpus().end()});
  ddp::Attempt attempt(launch, lock_fd, ddp::Clock::System(), probe);
  running = &attempt;
  std::signal(SIGHUP, SIG_IGN);
  std::signal(SIGTERM, OnSignal);
  std::signal(SIGINT, OnSignal);
  const absl::Status status = attempt.Run();
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);
  if (!status.ok()) ddp::LogError(std::string(status.message()));
  return status.ok() ? 0 : 1;
}
