// The one file that sees Gloo's headers: Debian's, whose classes differ from those inside the torch wheel, so no Gloo
// object is touched here, only made by torch and passed back to it (DESIGN 12).
#define USE_C10D_GLOO
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "worker/dist/group.h"

namespace ddp {

BackendParts MakeGlooBackend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int world_size) {
  auto options = c10d::ProcessGroupGloo::Options::create();
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  options->timeout = std::chrono::minutes(30);
  return {c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, world_size, options),
          c10d::ProcessGroup::BackendType::GLOO};
}

}  // namespace ddp
