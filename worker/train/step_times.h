// Where the time of steps goes.
#ifndef DDP_WORKER_TRAIN_STEP_TIMES_H_
#define DDP_WORKER_TRAIN_STEP_TIMES_H_

#include <chrono>
#include <cstdint>

namespace ddp {

// Seconds per step. Together they are all of a step.
struct StepParts {
  double data = 0;
  double compute = 0;
  double reduce = 0;
  double optimizer = 0;
};

// A stop watch that is handed from one part of a step to the next: a few nanoseconds each time. One thread.
class StepTimes {
 public:
  using Clock = std::chrono::steady_clock;
  using TimePoint = Clock::time_point;
  enum class Part { kCompute, kData, kOptimizer };

  // A step begins, with the part compute. Time since the last Enter of a step that did not get to its End is dropped.
  void Begin(TimePoint now = Clock::now()) { Start(Part::kCompute, now); }
  // The next part begins.
  void Enter(Part part, TimePoint now = Clock::now()) {
    Add(now - since_);
    Start(part, now);
  }
  void End(TimePoint now = Clock::now()) { Add(now - since_); }
  // So much of what counts as compute was a wait for the sums of all ranks.
  void Reduced(Clock::duration time) {
    compute_ -= time;
    reduce_ += time;
  }
  // Means over so many steps, up to now; begins anew. Within a step.
  StepParts Take(int64_t steps, TimePoint now = Clock::now()) {
    Enter(part_, now);
    const auto mean = [&](Clock::duration sum) {
      return std::chrono::duration<double>(sum).count() / static_cast<double>(steps);
    };
    const StepParts means{mean(data_), mean(compute_), mean(reduce_), mean(optimizer_)};
    data_ = compute_ = reduce_ = optimizer_ = Clock::duration::zero();
    return means;
  }

 private:
  void Start(Part part, TimePoint now) {
    part_ = part;
    since_ = now;
  }
  void Add(Clock::duration time) {
    (part_ == Part::kData ? data_ : part_ == Part::kOptimizer ? optimizer_ : compute_) += time;
  }

  Part part_ = Part::kCompute;
  TimePoint since_;
  Clock::duration data_{};
  Clock::duration compute_{};
  Clock::duration reduce_{};
  Clock::duration optimizer_{};
};

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_STEP_TIMES_H_
