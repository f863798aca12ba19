// Steps whose numbers are read on the host while the next step runs on the device.
#ifndef DDP_WORKER_TRAIN_LATE_STEPS_H_
#define DDP_WORKER_TRAIN_LATE_STEPS_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <cstdint>
#include <deque>
#include <optional>

namespace ddp {

struct StepSums {
  double loss = 0;
  double correct = 0;
  double count = 0;
};

// The share of one rank; the first two are where they were made.
struct LocalSums {
  at::Tensor loss;     // double scalar
  at::Tensor correct;  // int64 scalar
  double count = 0;
};

// What all ranks together read for a step.
struct StepSize {
  int64_t samples = 0;
  int64_t tokens = 0;  // without padding; 0: no text, or not counted (other ranks than 0)
};

// A step that has been done on the device.
struct StepNumbers {
  int64_t step = 0;  // as it is counted when done
  StepSize size;
  double lr = 0;
  StepSums sums;  // of all ranks
  double norm = 0;
  bool stop = false;  // a rank asked for it
};

// The host launches a step completely, with its update, and reads its numbers later. Whether the update may be done is
// therefore decided on the device (Hold). Only Read waits. Every rank must read after the same
// launches, and then all of them decide alike. One thread.
class LateSteps {
 public:
  explicit LateSteps(at::Device device);

  // [loss, correct, count, stop] in double, to be summed over the ranks.
  at::Tensor Pack(const LocalSums& local, bool stop) const;
  // float scalar: 1 when the step must change nothing, for there is nothing to learn from (a count of 0), or because
  // the loss or the norm of this step or of an earlier one is not finite. `sums`: of all ranks.
  at::Tensor Hold(const at::Tensor& sums, const at::Tensor& norm);
  // Begins to copy the numbers to the host.
  void Launched(int64_t step, const StepSize& size, double lr, const at::Tensor& sums, const at::Tensor& norm);

  // The oldest step not yet read, when more than `behind` are; waits until the device has done it.
  std::optional<StepNumbers> Read(size_t behind);

 private:
  struct Unread {
    StepNumbers numbers;
    at::Tensor host;                    // double [5]
    std::optional<c10::Event> arrived;  // unset: it is already there
  };
  at::Device device_;
  at::Tensor failed_;  // bool scalar: a step was not finite
  std::deque<Unread> unread_;
};

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_LATE_STEPS_H_
