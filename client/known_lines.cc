#include "client/known_lines.h"

#include <algorithm>

namespace ddp {

std::vector<std::string> KnownLines::New(const std::vector<std::string>& lines) {
  auto begin = lines.begin();
  if (repeat_ && !lines.empty()) {
    repeat_ = false;
    const auto found = std::find_end(lines.begin(), lines.end(), last_.begin(), last_.end());
    if (found != lines.end()) begin = found + static_cast<long>(last_.size());
  }
  last_.insert(last_.end(), begin, lines.end());
  while (last_.size() > kRemembered) last_.pop_front();
  return {begin, lines.end()};
}

}  // namespace ddp
