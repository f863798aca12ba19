#include "worker/train/prefetch.h"

#include <utility>

namespace ddp {

Prefetcher::Prefetcher(Maker make, int ahead, const BatchCopier& copier)
    : make_(std::move(make)), ahead_(static_cast<size_t>(ahead)), copier_(copier) {
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

std::optional<BatchCopier::Copy> Prefetcher::MakeOne() {
  std::optional<Batch> batch = make_();
  if (!batch) return std::nullopt;
  return copier_.Begin(*std::move(batch));
}

std::optional<Batch> Prefetcher::Next() {
  std::optional<BatchCopier::Copy> copy = ahead_ == 0 ? MakeOne() : Take();
  if (!copy) return std::nullopt;
  return copier_.End(*std::move(copy));
}

std::optional<BatchCopier::Copy> Prefetcher::Take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !ready_.empty() || error_; });
  if (ready_.empty()) std::rethrow_exception(error_);
  std::optional<BatchCopier::Copy> copy = std::move(ready_.front());
  // The end stays, for whoever asks again.
  if (copy) ready_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return copy;
}

void Prefetcher::Loop() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return closing_ || ready_.size() < ahead_; });
      if (closing_) return;
    }
    std::optional<BatchCopier::Copy> copy;
    std::exception_ptr error;
    try {
      copy = MakeOne();
    } catch (...) {
      error = std::current_exception();
    }
    const bool ended = error || !copy;
    {
      const std::lock_guard lock(mutex_);
      if (error) {
        error_ = error;
      } else {
        ready_.push_back(std::move(copy));
      }
    }
    changed_.notify_all();
    if (ended) return;
  }
}

}  // namespace ddp
