// bfloat16 in matrix products and convolutions of a forward pass.
#ifndef DDP_WORKER_TRAIN_AUTOCAST_H_
#define DDP_WORKER_TRAIN_AUTOCAST_H_

#include <ATen/autocast_mode.h>

namespace ddp {

// While it lives, the copies of weights in bfloat16 that Autocast makes are kept: for the micro-batches of one step,
// between which no weight changes.
class AutocastCache {
 public:
  AutocastCache() { at::autocast::increment_nesting(); }
  ~AutocastCache() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  }
  AutocastCache(const AutocastCache&) = delete;
  AutocastCache& operator=(const AutocastCache&) = delete;
};

// While it lives, on this thread, when `on`: torch.autocast(device_type, torch.bfloat16). Around forward passes only.
class Autocast {
 public:
  Autocast(bool on, at::DeviceType device) : on_(on), device_(device) {
    if (!on_) return;
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
    at::autocast::set_autocast_enabled(device_, true);
  }
  ~Autocast() {
    if (!on_) return;
    at::autocast::set_autocast_enabled(device_, false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  AutocastCache cache_;
  bool on_;
  at::DeviceType device_;
};

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_AUTOCAST_H_
