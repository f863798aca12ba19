#include "server/api/executor.h"

#include "absl/time/clock.h"

namespace ddp {

Executor::Executor(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

Executor::~Executor() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Executor::PostAfter(absl::Duration delay, std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push(
        {delay == absl::ZeroDuration() ? absl::InfinitePast() : absl::Now() + delay, next_number_++, std::move(task)});
  }
  changed_.notify_one();
}

void Executor::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const absl::Time now = absl::Now();
    if (!tasks_.empty() && tasks_.top().due <= now) {
      const std::function<void()> run = tasks_.top().run;
      tasks_.pop();
      lock.unlock();
      run();
      lock.lock();
    } else if (closing_) {
      return;
    } else if (tasks_.empty()) {
      changed_.wait(lock);
    } else {
      changed_.wait_for(lock, absl::ToChronoMicroseconds(tasks_.top().due - now) + std::chrono::microseconds(1));
    }
  }
}

}  // namespace ddp
