// How many cores this process may use.
#ifndef DDP_COMMON_CORES_H_
#define DDP_COMMON_CORES_H_

namespace ddp {

int UsableCores();

}  // namespace ddp

#endif  // DDP_COMMON_CORES_H_
