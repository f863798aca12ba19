// Keys of a terminal in raw mode.
#ifndef DDP_CLIENT_KEYS_H_
#define DDP_CLIENT_KEYS_H_

#include <string>
#include <string_view>
#include <vector>

namespace ddp {

enum class Key {
  kUp,
  kDown,
  kEnter,
  kEscape,
  kInterrupt,
  kSuspend,
  kCancel,
  kPause,
  kResume,
  kYes,
  kNo,
  kQuit,
  kOther
};

// Not thread-safe.
class KeyReader {
 public:
  // What the bytes say. A sequence may come in pieces; an Escape alone is told once the next byte shows that it was
  // one.
  std::vector<Key> Feed(std::string_view bytes);

 private:
  std::string sequence_;  // the beginning of one, from its Escape
};

}  // namespace ddp

#endif  // DDP_CLIENT_KEYS_H_
