#include "worker/train/prefetch.h"

#include <utility>

namespace ddp {

Prefetcher::Prefetcher(Maker make, int ahead) : make_(std::move(make)), ahead_(static_cast<size_t>(ahead)) {
  if (ahead_ > 0) thread_ = std::thread(&Prefetcher::Loop, this);
}

Prefetcher::~Prefetcher() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::optional<Batch> Prefetcher::Next() {
  if (ahead_ == 0) return make_();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !ready_.empty() || error_; });
  if (ready_.empty()) std::rethrow_exception(error_);
  std::optional<Batch> batch = std::move(ready_.front());
  // The end stays, for whoever asks again.
  if (batch) ready_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return batch;
}

void Prefetcher::Loop() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return closing_ || ready_.size() < ahead_; });
      if (closing_) return;
    }
    std::optional<Batch> batch;
    std::exception_ptr error;
    try {
      batch = make_();
    } catch (...) {
      error = std::current_exception();
    }
    const bool ended = error || !batch;
    {
      const std::lock_guard lock(mutex_);
      if (error) {
        error_ = error;
      } else {
        ready_.push_back(std::move(batch));
      }
    }
    changed_.notify_all();
    if (ended) return;
  }
}

}  // namespace ddp
