// bfloat16 in matrix products and convolutions of a forward pass.
#ifndef DDP_WORKER_TRAIN_AUTOCAST_H_
#define DDP_WORKER_TRAIN_AUTOCAST_H_

#include <ATen/autocast_mode.h>

namespace ddp {

// While it lives, on this thread, when `on`: torch.autocast(device_type, torch.bfloat16). Around forward passes only.
class Autocast {
 public:
  Autocast(bool on, at::DeviceType device) : on_(on), device_(device) {
    if (!on_) return;
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
    at::autocast::set_autocast_enabled(device_, true);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (!on_) return;
    // The copies of weights that it keeps are out of date after the next update.
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool on_;
  at::DeviceType device_;
};

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_AUTOCAST_H_
