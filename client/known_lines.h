// Which lines of a log have been shown before the connection broke.
#ifndef DDP_CLIENT_KNOWN_LINES_H_
#define DDP_CLIENT_KNOWN_LINES_H_

#include <deque>
#include <string>
#include <vector>

namespace ddp {

// Lines have no numbers: the last ones are remembered, and looked for in what is sent again. Not thread-safe.
class KnownLines {
 public:
  // What comes next begins somewhere before, or after, what came last.
  void Repeat() { repeat_ = !last_.empty(); }
  // Those that have not been here. The first batch after Repeat is searched.
  std::vector<std::string> New(const std::vector<std::string>& lines);

 private:
  static constexpr size_t kRemembered = 20;
  std::deque<std::string> last_;
  bool repeat_ = false;
};

}  // namespace ddp

#endif  // DDP_CLIENT_KNOWN_LINES_H_
