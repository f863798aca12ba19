// Standard error as lines above one live line. Thread-safe.
#ifndef DDP_CLIENT_TERMINAL_H_
#define DDP_CLIENT_TERMINAL_H_

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "client/resize.h"
#include "common/files.h"

namespace ddp {

// The descriptor is a terminal that understands escape codes.
bool IsTerminal(int fd);

// Of the terminal behind the descriptor; unset: it is none, or does not know.
std::optional<int> TerminalColumns(int fd);

// On a terminal the live line is redrawn at the bottom, at most 10 times a second and when the terminal gets another
// size, and every other line is put above it in the same write, so that the two never mix. What comes too soon after
// the last drawing is drawn as soon as it is due, unless something newer comes first: the newest state never stays
// hidden. Without a terminal there are no escape codes, and the live line is printed as a plain one every few seconds.
// Control characters are escaped.
class Terminal {
 public:
  // The live line for so many columns. Called under the terminal's lock: it must not use the terminal.
  using LiveLine = std::function<std::string(int width)>;

  explicit Terminal(int fd);
  ~Terminal();

  int width() const;
  void Print(const std::string& line);
  void Live(LiveLine line);
  void ClearLive();

 private:
  void Write(const std::string& text) const;
  absl::Time Due() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string Erase() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string Render() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DrawLive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DrawWhenDue();

  const int fd_;
  const bool is_terminal_;
  const UniqueFd wake_;
  std::optional<ResizeSignal> resize_;
  std::mutex mutex_;
  LiveLine live_ ABSL_GUARDED_BY(mutex_);       // the newest; null: none
  bool waits_ ABSL_GUARDED_BY(mutex_) = false;  // live_ has not been drawn yet
  int drawn_columns_ ABSL_GUARDED_BY(mutex_) = 0;
  int drawn_width_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time drawn_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace ddp

#endif  // DDP_CLIENT_TERMINAL_H_
