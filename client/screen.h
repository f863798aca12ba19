// A whole terminal, for a program that draws all of it.
#ifndef DDP_CLIENT_SCREEN_H_
#define DDP_CLIENT_SCREEN_H_

#include <termios.h>

#include <string>
#include <vector>

namespace ddp {

// Between Enter and Leave the terminal is on its alternate screen, keys come one by one, and Ctrl-C and Ctrl-Z are
// keys. Not thread-safe.
class Screen {
 public:
  Screen(int in, int out) : in_(in), out_(out) {}
  ~Screen() { Leave(); }
  Screen(const Screen&) = delete;

  void Enter();
  void Leave();
  int width() const { return width_; }
  int height() const { return height_; }
  // Asks the terminal for its size.
  void Measure();
  // Draws the lines from the top and erases the rest, in one write; nothing when they are what is shown.
  void Draw(const std::vector<std::string>& lines);

 private:
  const int in_;
  const int out_;
  bool entered_ = false;
  int width_ = 80;
  int height_ = 24;
  termios before_{};
  std::string shown_;
};

}  // namespace ddp

#endif  // DDP_CLIENT_SCREEN_H_
