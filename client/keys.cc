#include "client/keys.h"

namespace ddp {

namespace {

Key KeyOf(char byte) {
  switch (byte) {
    case '\r':
    case '\n':
      return Key::kEnter;
    case '\x03':
      return Key::kInterrupt;
    case '\x1a':
      return Key::kSuspend;
    case 'k':
      return Key::kUp;
    case 'j':
      return Key::kDown;
    case 'c':
      return Key::kCancel;
    case 'p':
      return Key::kPause;
    case 'r':
      return Key::kResume;
    case 'y':
    case 'Y':
      return Key::kYes;
    case 'n':
    case 'N':
      return Key::kNo;
    case 'q':
      return Key::kQuit;
    default:
      return Key::kOther;
  }
}

}  // namespace

std::vector<Key> KeyReader::Feed(std::string_view bytes) {
  std::vector<Key> keys;
  for (const char byte : bytes) {
    if (sequence_.size() == 1 && byte != '[' && byte != 'O') {
      keys.push_back(Key::kEscape);
      sequence_.clear();
    }
    if (byte == '\x1b') {
      sequence_ = "\x1b";
    } else if (sequence_.size() == 1) {
      sequence_ += byte;
    } else if (!sequence_.empty()) {
      // Parameters, and then the one byte from '@' to '~' that ends it.
      sequence_ += byte;
      if (byte < '@' || byte > '~') continue;
      const bool plain = sequence_.size() == 3;
      keys.push_back(plain && byte == 'A' ? Key::kUp : plain && byte == 'B' ? Key::kDown : Key::kOther);
      sequence_.clear();
    } else {
      keys.push_back(KeyOf(byte));
    }
  }
  if (sequence_.size() > 32) sequence_.clear();
  return keys;
}

}  // namespace ddp
