// The defaults that spec.proto promises.
#ifndef DDP_SPEC_SPEC_DEFAULTS_H_
#define DDP_SPEC_SPEC_DEFAULTS_H_

#include "ddp/v1/spec.pb.h"

namespace ddp {

// What the daemon knows of its machine.
struct MachineFacts {
  int slots = 1;
  bool has_gpus = false;
  std::string no_gpu_reason;  // when it has none
};

// Fills in what the user left open and what has an effect with the rest of the spec: Validate refuses what has none,
// and a complete spec can be submitted again. An explicit value stays, however little sense it makes: that is for
// Validate to refuse.
void FillDefaults(v1::JobSpec& spec, const MachineFacts& machine);

}  // namespace ddp

#endif  // DDP_SPEC_SPEC_DEFAULTS_H_
