#include "client/plot/canvas.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace ddp {

Canvas::Canvas(int columns, int rows, DotStyle style)
    : style_(style),
      dots_across_(style == DotStyle::kBraille ? 2 : 1),
      dots_down_(style == DotStyle::kBraille ? 4
                 : style == DotStyle::kAscii ? 2
                                             : 1),
      columns_(columns),
      width_(columns * dots_across_),
      height_(rows * dots_down_),
      cells_(static_cast<size_t>(columns) * static_cast<size_t>(rows)) {}

void Canvas::Dot(int x, int y, int ink) {
  // Unicode numbers braille dots down the left column, down the right one, and then the two of the fourth row.
  static constexpr uint8_t kBit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  if (x < 0 || x >= width_ || y < 0 || y >= height_) return;
  Cell& cell = cells_[static_cast<size_t>(row_of(y) * columns_ + column_of(x))];
  cell.dots |= kBit[y % dots_down_][x % dots_across_];
  cell.ink = ink;
}

void Canvas::Line(int x0, int y0, int x1, int y1, int ink) {
  // Bresenham's.
  const int dx = std::abs(x1 - x0);
  const int dy = -std::abs(y1 - y0);
  const int right = x0 < x1 ? 1 : -1;
  const int down = y0 < y1 ? 1 : -1;
  for (int error = dx + dy;;) {
    Dot(x0, y0, ink);
    if (x0 == x1 && y0 == y1) return;
    const int twice = 2 * error;
    if (twice >= dy) error += dy, x0 += right;
    if (twice <= dx) error += dx, y0 += down;
  }
}

char Canvas::Mark(int ink) {
  static constexpr char kMarks[] = "*+xo#@.";
  return kMarks[(ink - 1) % 7];
}

std::string Canvas::Color(int ink) {
  // Cyan, yellow, magenta, green, red, blue; bright black for the background. Legible on black and on white.
  static constexpr int kColors[] = {36, 33, 35, 32, 31, 34, 90};
  return absl::StrCat("\x1b[", kColors[(ink - 1) % 7], "m");
}

std::string Canvas::Text(const Cell& cell) const {
  if (cell.dots == 0) return " ";
  switch (style_) {
    case DotStyle::kBraille:  // U+2800 + dots, in UTF-8
      return {'\xE2', static_cast<char>(0xA0 + (cell.dots >> 6)), static_cast<char>(0x80 + (cell.dots & 0x3F))};
    case DotStyle::kAscii:
      return cell.dots == 1 ? "'" : cell.dots == 2 ? "." : ":";
    case DotStyle::kMarks:
      break;
  }
  return {Mark(cell.ink)};
}

std::string Canvas::Row(int row, bool color) const {
  std::string text;
  int ink = 0;
  for (int column = 0; column < columns_; ++column) {
    const Cell& cell = cells_[static_cast<size_t>(row * columns_ + column)];
    const int wanted = cell.dots == 0 ? 0 : cell.ink;
    if (color && wanted != ink) {
      if (ink != 0) text += kColorEnd;
      if (wanted != 0) text += Color(wanted);
      ink = wanted;
    }
    text += Text(cell);
  }
  if (ink != 0) text += kColorEnd;
  return text;
}

}  // namespace ddp
