// ddp-worker and ddp-worker-cuda.
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "worker/report/check_io.h"
#include "worker/train/check.h"
#include "worker/train/checkpoint_tool.h"
#include "worker/train/standalone.h"
#include "worker/train/worker.h"

namespace {

constexpr char kUsage[] =
    "ddp-worker trains one rank of a job. By hand, without a daemon, for debugging:\n"
    "  ddp-worker --standalone SPEC.json [--out FOLDER]\n"
    "                        SPEC.json: a job's spec, as under \"spec\" in `ddpctl get JOB -o json`; what it leaves "
    "out\n"
    "                        has the daemon's defaults. One rank; on cpu, with ddp-worker-cuda on cuda too.\n"
    "                        FOLDER (./ddpd-standalone): checkpoints, from which the same command goes on; "
    "metrics.csv\n"
    "                        with every point; spec.json, the complete spec. Ctrl-C stops after the step and saves,\n"
    "                        a second one ends at once. Exit codes: 0 done, or stopped and saved; 1 failed; 2 usage;\n"
    "                        3 wrong spec or data, or a loss that is not finite: trying again would not help.\n"
    "Started by ddp-runner and ddpd, not by hand:\n"
    "  ddp-worker --fd N     take orders from the socket N\n"
    "  ddp-worker --check    read a CheckRequest on standard input, write a CheckResult\n"
    "  ddp-worker --list CHECKPOINTS            write a ListCheckpointsResponse\n"
    "  ddp-worker --verify STEP_FOLDER...       write a VerifyCheckpointsResponse\n"
    "  ddp-worker --export STEP_FOLDER pt|safetensors N\n"
    "  ddp-worker --import FILE N               write weights to the descriptor N, and a WeightsHeader\n"
    "  ddp-worker --version\n";

// Big tensors are freed and taken again in every step; glibc would hand their memory back to the kernel each time and
// pay for fresh pages (DESIGN 12: 5.4 -> 3.1 s for a step of the text encoder).
void KeepFreedMemory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_TOP_PAD, 64 << 20);
}

int Check() {
  const std::string request{std::istreambuf_iterator<char>(std::cin), {}};
  absl::StatusOr<ddp::CheckInput> input = ddp::ParseCheckRequest(request);
  if (!input.ok()) {
    std::cerr << "ddp-worker --check: " << input.status().message() << "\n";
    return 2;
  }
  std::cout << ddp::SerializeCheckResult(ddp::CheckSpec(*input)) << std::flush;
  return 0;
}

std::optional<int> Standalone(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] != "--standalone") return std::nullopt;
  KeepFreedMemory();
  return ddp::RunStandalone({arguments.begin() + 1, arguments.end()});
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 2;
  int fd = -1;
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::puts("ddp-worker " DDP_VERSION);
    exit_code = 0;
  } else if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(kUsage, stdout);
    exit_code = 0;
  } else if (argc == 2 && std::strcmp(argv[1], "--check") == 0) {
    exit_code = Check();
  } else if (argc == 3 && std::strcmp(argv[1], "--fd") == 0 && absl::SimpleAtoi(argv[2], &fd)) {
    // A worker never outlives its runner.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    KeepFreedMemory();
    exit_code = ddp::RunWorker(fd);
  } else if (const std::optional<int> code = Standalone({argv + 1, argv + argc}); code.has_value()) {
    exit_code = *code;
  } else if (const std::optional<int> code = ddp::RunCheckpointTool({argv + 1, argv + argc}); code.has_value()) {
    exit_code = *code;
  } else {
    std::fputs(kUsage, stderr);
  }
  std::fflush(nullptr);
  // Not exit(): tearing down a process group whose peers have left aborts now and then, and all work is done here.
  _exit(exit_code);
}
