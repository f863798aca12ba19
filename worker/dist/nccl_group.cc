#include <c10/cuda/CUDAGuard.h>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "worker/dist/group.h"

namespace ddp {

BackendParts MakeNcclBackend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int world_size) {
  // The runner shows each rank only its own GPU, so it is always device 0.
  c10::cuda::CUDAGuard guard(0);
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = std::chrono::seconds(120);
  return {c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, world_size, options),
          c10d::ProcessGroup::BackendType::NCCL};
}

}  // namespace ddp
