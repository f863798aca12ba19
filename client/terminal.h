// Standard error as lines above one live line. Thread-safe.
#ifndef DDP_CLIENT_TERMINAL_H_
#define DDP_CLIENT_TERMINAL_H_

#include <mutex>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace ddp {

// On a terminal the live line is redrawn at the bottom, at most 10 times a second, and every other line is put above it
// in the same write, so that the two never mix. Without a terminal there are no escape codes, and the live line is
// printed as a plain one every few seconds.
class Terminal {
 public:
  explicit Terminal(int fd);
  ~Terminal() { ClearLive(); }

  int width() const;
  void Print(const std::string& line);
  void Live(const std::string& line);
  void ClearLive();

 private:
  void Write(const std::string& text) const;

  const int fd_;
  const bool is_terminal_;
  std::mutex mutex_;
  std::string live_ ABSL_GUARDED_BY(mutex_);  // what is drawn now; "": nothing
  absl::Time drawn_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace ddp

#endif  // DDP_CLIENT_TERMINAL_H_
