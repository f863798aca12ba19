// A grid of dots that becomes lines of text.
#ifndef DDP_CLIENT_PLOT_CANVAS_H_
#define DDP_CLIENT_PLOT_CANVAS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ddp {

enum class DotStyle {
  kBraille,  // 2 x 4 dots in a character
  kAscii,    // 1 x 2: ' . :
  kMarks,    // 1 x 1: a sign for each ink, for several lines without colours
};

class Canvas {
 public:
  Canvas(int columns, int rows, DotStyle style);
  int width() const { return width_; }  // in dots
  int height() const { return height_; }
  int column_of(int x) const { return x / dots_across_; }
  int row_of(int y) const { return y / dots_down_; }

  // y counts from the top; ink from 1. A dot outside is left out. The newest ink of a character is its colour.
  void Dot(int x, int y, int ink);
  void Line(int x0, int y0, int x1, int y1, int ink);

  // The characters of a row, in colours when wanted: SGR codes around runs of the same ink.
  std::string Row(int row, bool color) const;
  // The sign of an ink under kMarks.
  static char Mark(int ink);
  // "\x1b[..m" of an ink.
  static std::string Color(int ink);

 private:
  struct Cell {
    uint8_t dots = 0;
    int ink = 0;
  };
  std::string Text(const Cell& cell) const;

  const DotStyle style_;
  const int dots_across_;
  const int dots_down_;
  const int columns_;
  const int width_;
  const int height_;
  std::vector<Cell> cells_;
};

// Ends what Canvas::Color began.
inline constexpr char kColorEnd[] = "\x1b[0m";
// The ink of what should stay in the background.
inline constexpr int kDimInk = 7;

}  // namespace ddp

#endif  // DDP_CLIENT_PLOT_CANVAS_H_
