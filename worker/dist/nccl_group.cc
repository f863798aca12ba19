#include <c10/cuda/CUDAGuard.h>

#include <cstdlib>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "worker/dist/group.h"

namespace ddp {

namespace {

// NCCL does not see that a rank of the same machine has died; the runner does, at once, and ends the others. What is
// left for this limit is a rank that hangs. It is long, because ranks also wait here while rank 0 waits for a slow
// disk.
constexpr std::chrono::minutes kTimeout{10};

// Read by NCCL and torch when a group is made. What the daemon's environment already says is left alone (of these only
// NCCL_* gets as far as the workers).
void SetDefaults() {
  constexpr const char* kDefaults[][2] = {
      // Past the time-out the watchdog ends the process without aborting the communicator, which waits for its peers.
      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "3"},
      // The same when the watchdog itself is stuck in a call of CUDA or NCCL.
      {"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "300"},
      // No traces of collectives in /tmp.
      {"TORCH_NCCL_DUMP_ON_TIMEOUT", "0"},
      // Sums in the same order in every run, so that a resume gives the same bits.
      {"NCCL_ALGO", "Ring"},
      {"NCCL_NVLS_ENABLE", "0"},
  };
  for (const auto& [name, value] : kDefaults) setenv(name, value, /*replace=*/0);
}

}  // namespace

BackendParts MakeNcclBackend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int world_size) {
  SetDefaults();
  // The runner shows each rank only its own GPU, so it is always device 0.
  c10::cuda::CUDAGuard guard(0);
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = kTimeout;
  return {c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, world_size, options),
          c10d::ProcessGroup::BackendType::NCCL};
}

}  // namespace ddp
